package bulk

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// output is where an export goes: standard output, or a file that has its name
// only when it is complete and on disk.
type output struct {
	io.Writer
	written cli.Counter
	buf     *bufio.Writer
	zip     *gzip.Writer // nil: not compressed
	temp    *os.File     // nil: standard output
	name    string
}

func createOutput(a *cli.App, name string, zip bool) (*output, error) {
	o := &output{name: name}
	under := a.Stdout
	if name != "" {
		f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".partial-*")
		if err != nil {
			return nil, err
		}
		o.temp, under = f, f
	}
	o.buf = bufio.NewWriterSize(io.MultiWriter(under, &o.written), 256<<10)
	o.Writer = o.buf
	if zip {
		o.zip = gzip.NewWriter(o.buf)
		o.Writer = o.zip
	}
	return o, nil
}

// finish completes the output, or throws the file away if err says that
// something failed before.
func (o *output) finish(err error) error {
	if err == nil && o.zip != nil {
		err = o.zip.Close()
	}
	if err == nil {
		err = o.buf.Flush()
	}
	if o.temp == nil {
		return err
	}
	if err == nil { // for its owner only, as CreateTemp makes it: it is what people said
		err = o.temp.Sync()
	}
	if cerr := o.temp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(o.temp.Name(), o.name)
	}
	if err != nil {
		os.Remove(o.temp.Name())
	}
	return err
}
