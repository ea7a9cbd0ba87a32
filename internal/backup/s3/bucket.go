package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/turnlog/turnlog/internal/backup"
)

const (
	// partBytes is how much is uploaded at a time, and held in memory.
	partBytes = 16 << 20
	// partsMax is a little less than the 10,000 parts that an object may have.
	partsMax = 9000
)

// Bucket is a bucket of an object store, or what is below a prefix in one.
type Bucket struct {
	core   minio.Core
	name   string
	prefix string // ends in a slash, unless it is empty
	lease  leaseTimes
}

var _ backup.Storage = (*Bucket)(nil)

// Open returns the storage at a URL s3://BUCKET/PREFIX. It asks nothing of the store yet.
func Open(url string, c Config) (*Bucket, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(url, Scheme), "/")
	if name == "" {
		return nil, fmt.Errorf("%q names no bucket: it must be s3://BUCKET or s3://BUCKET/PREFIX", url)
	}
	if prefix = strings.TrimPrefix(path.Clean("/"+prefix), "/"); prefix != "" {
		prefix += "/"
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	return &Bucket{core: minio.Core{Client: client}, name: name, prefix: prefix, lease: usualLease}, nil
}

// Path implements backup.Storage.
func (b *Bucket) Path(name string) string { return Scheme + b.name + "/" + b.prefix + name }

func (b *Bucket) key(name string) string { return b.prefix + name }

// List implements backup.Storage.
func (b *Bucket) List(ctx context.Context, dir string) (all []backup.Object, err error) {
	under := b.prefix
	if dir != "" {
		under = b.key(dir) + "/"
	}
	for o := range b.core.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: under}) {
		if o.Err != nil {
			return nil, b.explain("list", dir, o.Err)
		}
		if name := strings.TrimPrefix(o.Key, under); name != "" && name != leaseName && !strings.HasSuffix(name, "/") {
			all = append(all, backup.Object{Name: path.Join(dir, name), Size: o.Size, Modified: o.LastModified})
		}
	}
	return all, ctx.Err()
}

// Read implements backup.Storage.
func (b *Bucket) Read(ctx context.Context, name string, offset int64) (io.ReadCloser, int64, error) {
	var opts minio.GetObjectOptions
	if offset > 0 {
		if err := opts.SetRange(offset, 0); err != nil {
			return nil, 0, err
		}
	}
	in, info, _, err := b.core.GetObject(ctx, b.name, b.key(name), opts)
	if err != nil {
		return nil, 0, b.explain("read", name, err)
	}
	return &body{ReadCloser: in, path: b.Path(name), left: info.Size}, offset + info.Size, nil
}

// body is what the store sends of an object. If that is less than announced, the object may be whole.
type body struct {
	io.ReadCloser
	path string
	left int64
}

func (r *body) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.left -= int64(n)
	if r.left > 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		err = &fs.PathError{Op: "read", Path: r.path,
			Err: fmt.Errorf("the connection ended %d bytes before the object's end", r.left)}
	}
	return n, err
}

var errUnfilled = errors.New("the source of an object failed")

// Write implements backup.Storage. Interrupted, it leaves an upload of which the store shows no object.
func (b *Bucket) Write(ctx context.Context, name string, most int64, fill func(io.Writer) error) error {
	if _, err := b.core.StatObject(ctx, b.name, b.key(name), minio.StatObjectOptions{}); err == nil {
		return &fs.PathError{Op: "write", Path: b.Path(name), Err: fs.ErrExist}
	} else if err = b.explain("write", name, err); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, in := io.Pipe()
	filled := make(chan error, 1)
	go func() { // ends when fill has: a failed upload closes the pipe
		err := fill(in)
		if err == nil {
			_ = in.Close()
		} else { // not err itself, which may be io.EOF, and to who reads the end
			_ = in.CloseWithError(errUnfilled)
		}
		filled <- err
	}()
	err := b.upload(ctx, name, out, most)
	_ = out.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if ferr := <-filled; ferr != nil && (err == nil || !errors.Is(ferr, io.ErrClosedPipe)) {
		return ferr
	}
	return err
}

// upload uploads what it reads: in one request if it is short, else in parts.
func (b *Bucket) upload(ctx context.Context, name string, in io.Reader, most int64) error {
	opts := minio.PutObjectOptions{ContentType: "application/octet-stream",
		AutoChecksum: minio.ChecksumFullObjectCRC32C,
		PartSize:     uint64(max(partBytes, (most/partsMax+1<<20)&^(1<<20-1)))}
	opts.SetMatchETagExcept("*")
	begin, err := io.ReadAll(io.LimitReader(in, int64(opts.PartSize)))
	if err != nil {
		return err
	}
	size := int64(len(begin))
	var all io.Reader = bytes.NewReader(begin)
	if uint64(size) == opts.PartSize {
		all, size = io.MultiReader(all, in), -1
	}
	_, err = b.core.Client.PutObject(ctx, b.name, b.key(name), all, size, opts)
	return b.explain("write", name, err)
}

// Remove implements backup.Storage.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	err := b.explain("remove", name, b.core.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeUploads removes what interrupted writes left, for which the store asks money, but shows no object. Uploads of
// other programs, and of backups to folders below this one, which have locks of their own, stay.
func (b *Bucket) removeUploads(ctx context.Context) error {
	for u := range b.core.ListIncompleteUploads(ctx, b.name, b.prefix, true) {
		if u.Err != nil {
			return b.explain("list uploads to", "", u.Err)
		}
		if !backup.IsObject(strings.TrimPrefix(u.Key, b.prefix)) {
			continue
		}
		if err := b.core.AbortMultipartUpload(ctx, b.name, u.Key, u.UploadID); err != nil && !isMissing(err) {
			return b.explain("remove an upload to", strings.TrimPrefix(u.Key, b.prefix), err)
		}
	}
	return ctx.Err()
}

func isMissing(err error) bool {
	r := minio.ToErrorResponse(err)
	return r.StatusCode == http.StatusNotFound && r.Code != minio.NoSuchBucket
}

// explain says of an error what was done to which object.
func (b *Bucket) explain(op, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case isMissing(err):
		err = fs.ErrNotExist
	case minio.ToErrorResponse(err).StatusCode == http.StatusPreconditionFailed:
		err = fs.ErrExist
	}
	return &fs.PathError{Op: op, Path: b.Path(name), Err: err}
}
