package admin

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

// A report bounds what it takes from each node and directory, whatever program answers there.
const (
	maxReportBody  = 64 << 20 // bytes of an answer
	maxReportFiles = 100_000  // files of a directory
)

// report is what `turnlog debug zip` collects, and writes as it arrives.
type report struct {
	app            *cli.App
	began          time.Time
	profiles, dirs []string

	out      *zip.Writer
	entries  []string
	missing  []string // what could not be had, and why
	answered bool     // some node has told how the cluster is
}

// writeTo writes the whole ZIP file. Its errors are those of w, or of an interrupt: what a node does not tell
// is noted.
func (r *report) writeTo(ctx context.Context, w io.Writer) error {
	r.out = zip.NewWriter(w)
	nodes, err := r.views()
	if err != nil {
		return err
	}
	for _, n := range nodes {
		dir := "nodes/" + safeName(n.ID) + "/"
		for _, page := range []string{"metrics", "readyz"} {
			if err := r.page(ctx, dir+page+".txt", n.HTTPAddr, "/"+page); err != nil {
				return err
			}
		}
	}
	for _, addr := range r.profiles {
		dir := "profiles/" + safeName(addr) + "/"
		if err := r.page(ctx, dir+"goroutines.txt", addr, "/debug/pprof/goroutine?debug=2"); err != nil {
			return err
		}
		if err := r.page(ctx, dir+"heap.pprof", addr, "/debug/pprof/heap"); err != nil {
			return err
		}
	}
	for _, dir := range r.dirs {
		if err := r.listing(dir); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.add("README.txt", strings.NewReader(r.readme())); err != nil {
		return err
	}
	return r.out.Close()
}

// views writes how each node sees the cluster, and returns the members of the one that sees most.
func (r *report) views() ([]turn.Node, error) {
	addrs := cli.SplitAddrs(r.app.Addr)
	if len(addrs) == 0 {
		return nil, cli.Usagef("--addr is empty: name at least one node")
	}
	views := askAll(r.app, addrs)
	best := slices.MaxFunc(views, compareViews)
	var others []string
	for i := range best.cluster.Nodes {
		if addr := best.cluster.Nodes[i].RESPAddr; addr != "" && !slices.Contains(addrs, addr) {
			others = append(others, addr)
		}
	}
	views = append(views, askAll(r.app, others)...)
	for _, v := range views {
		if cli.IsUsage(v.err) { // it tells of the command line, not of a node
			return nil, v.err
		}
		name := "views/" + safeName(v.addr) + ".json"
		if v.err != nil {
			r.lacks(name, v.err)
			continue
		}
		r.answered = true
		if err := r.addCluster(name, v.cluster); err != nil {
			return nil, err
		}
	}
	best = bestOf(best, views)
	if best.err != nil {
		r.lacks("cluster.json", best.err)
		return nil, nil
	}
	return best.cluster.Nodes, r.addCluster("cluster.json", best.cluster)
}

func (r *report) addCluster(name string, cl turn.Cluster) error {
	text, err := json.MarshalIndent(statusJSON{cl, cl.LevelWaitsFor(), cl.ZoneRisks(), cl.Health()}, "", "  ")
	if err != nil {
		return err
	}
	return r.add(name, strings.NewReader(string(text)+"\n"))
}

// page writes what a node answers at a path, whatever its status is.
func (r *report) page(ctx context.Context, name, addr, at string) error {
	if addr == "" {
		r.lacks(name, errors.New("there is no address to ask"))
		return nil
	}
	wait := viewTime
	if r.app.TimeoutGiven() {
		wait = r.app.Timeout
	}
	asked, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	req, err := http.NewRequestWithContext(asked, http.MethodGet, "http://"+addr+at, nil)
	if err != nil {
		return cli.Usage(err)
	}
	send := r.app.Send
	if strings.HasPrefix(at, "/debug/") { // which knows no users and no TLS, and is sent no secret
		send = http.DefaultClient.Do
	}
	res, err := send(req)
	if err != nil {
		r.lacks(name, err)
		return ctx.Err()
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		r.lacks(name, fmt.Errorf("%s answers %s", addr, res.Status))
	}
	body := &noting{r: res.Body}
	if err := r.add(name, io.LimitReader(body, maxReportBody)); err != nil {
		return err
	}
	if n, _ := body.Read(make([]byte, 1)); n > 0 {
		r.lacks("the rest of "+name, fmt.Errorf("it has more than %d MiB", maxReportBody>>20))
	}
	if body.err != nil {
		r.lacks("the rest of "+name, body.err)
	}
	return ctx.Err()
}

// noting ends like its reader, but notes an error instead of returning it.
type noting struct {
	r   io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	m, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err, err = err, io.EOF
	}
	return m, err
}

// listing writes what files a directory has, not what is in them.
func (r *report) listing(dir string) error {
	var list strings.Builder
	files := 0
	name := "data-dirs/" + safeName(dir) + ".txt"
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		r.lacks(name, err)
		return nil
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, os.ErrNotExist) && path != dir { // a node removes files at any time
				return nil
			}
			return err
		}
		if files++; files > maxReportFiles {
			return fmt.Errorf("it has more than %d files", maxReportFiles)
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s %12d %s %q\n",
			info.Mode(), info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano), path)
		return nil
	})
	if err != nil {
		r.lacks("the rest of "+name, err)
	}
	return r.add(name, strings.NewReader(list.String()))
}

// add writes a file, under another name if there is one of that name: addresses and paths can differ in what safeName
// replaces.
func (r *report) add(name string, content io.Reader) error {
	ext := path.Ext(name)
	for base, n := strings.TrimSuffix(name, ext), 2; slices.Contains(r.entries, name); n++ {
		name = fmt.Sprintf("%s-%d%s", base, n, ext)
	}
	w, err := r.out.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err != nil {
		return err
	}
	r.entries = append(r.entries, name)
	_, err = io.Copy(w, content)
	return err
}

func (r *report) lacks(name string, err error) {
	r.missing = append(r.missing, fmt.Sprintf("%s: %v", name, err))
}

func (r *report) readme() string {
	var text strings.Builder
	fmt.Fprintf(&text, "A report of `turnlog debug zip`, version %s, begun at %s.\n\nIt has:\n", r.app.Version,
		r.began.UTC().Format(time.RFC3339))
	for _, e := range r.entries {
		fmt.Fprintf(&text, "  %s\n", e)
	}
	if len(r.missing) > 0 {
		text.WriteString("\nMissing:\n")
	}
	for _, m := range r.missing {
		fmt.Fprintf(&text, "  %s\n", m)
	}
	text.WriteString("\nIt has no messages, session keys, metadata, secrets, users or logs. " +
		"Logs may have session keys\nin them: read what you add.\n")
	return text.String()
}

// safeName makes an address or a path the name of a file on every system: one that leads nowhere else.
func safeName(s string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c) {
			return c
		}
		return '_'
	}, s), "._")
	if name == "" {
		return "unnamed"
	}
	return name
}
