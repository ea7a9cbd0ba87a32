package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/identity"
)

const leaseName = ".turnlog-backup.lock"

// leaseTimes are how long a lease holds that is not renewed, and how often it is. The store's clock counts.
type leaseTimes struct{ life, renewal time.Duration }

var usualLease = leaseTimes{life: 10 * time.Minute, renewal: time.Minute}

// lease is the lock of a bucket: an object that its holder writes again and again, on the condition that it is still
// what the holder wrote last. A holder that died stops doing so, and another takes the lease when its life is over.
type lease struct {
	b      *Bucket
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	ended  sync.WaitGroup // the goroutine that renews it

	mu   sync.Mutex
	says holder
	etag string
	lost error // why it is no longer held
}

// holder is what the object says.
type holder struct {
	ID      string `json:"id"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Renewed int    `json:"renewed"` // how often; it makes each object another one
}

// Lock implements backup.Storage.
func (b *Bucket) Lock(ctx context.Context) (backup.Lock, error) {
	host, _ := os.Hostname()
	l := &lease{b: b, says: holder{ID: identity.RandomID(), Host: host, PID: os.Getpid()}}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	err := l.take(ctx)
	if err == nil {
		l.ended.Go(l.renew)
		if err = b.removeUploads(ctx); err != nil {
			err = errors.Join(err, l.Close())
		}
	}
	if err != nil {
		l.cancel()
		return nil, err
	}
	return l, nil
}

// take writes the object, unless another process holds it.
func (l *lease) take(ctx context.Context) error {
	for range 3 { // the holder may end in between
		err := l.write(ctx, func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") })
		if err == nil {
			return l.heeded(ctx)
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := l.takeOver(ctx); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("the lock of %s changes all the time", l.b.Path(""))
}

// heeded is an error if the store writes what it should not: then there is no lock.
func (l *lease) heeded(ctx context.Context) error {
	etag := l.etag
	err := l.write(ctx, func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") })
	if errors.Is(err, fs.ErrExist) {
		l.etag = etag
		return nil
	}
	if err == nil {
		err = errors.New("the store ignores conditional writes (If-None-Match), " +
			"so that two backups could be written at once")
	}
	return errors.Join(err, l.b.Remove(ctx, leaseName))
}

// takeOver takes a lease that is over. fs.ErrNotExist: there is none any more.
func (l *lease) takeOver(ctx context.Context) error {
	in, info, header, err := l.b.core.GetObject(ctx, l.b.name, l.b.key(leaseName), minio.GetObjectOptions{})
	if err != nil {
		return l.b.explain("read", leaseName, err)
	}
	defer in.Close()
	var other holder
	text, _ := io.ReadAll(io.LimitReader(in, 4096))
	_ = json.Unmarshal(text, &other) // what it says is for people
	if other.ID == l.says.ID {
		l.etag = info.ETag // a request was sent again whose answer was lost
		return nil
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return fmt.Errorf("the store does not say what time it is: %w", err)
	}
	age := now.Sub(info.LastModified)
	if age > l.b.lease.life {
		err = l.write(ctx, func(o *minio.PutObjectOptions) { o.SetMatchETag(info.ETag) })
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("another backup is being written to %s, by process %d on %.64q, which renewed its lock "+
		"%v ago; if it has died, the lock ends %v after that", l.b.Path(""), other.PID, other.Host, age, l.b.lease.life)
}

// write writes the object on a condition; fs.ErrExist: it does not hold.
func (l *lease) write(ctx context.Context, condition func(*minio.PutObjectOptions)) error {
	l.says.Renewed++
	text, err := json.Marshal(l.says)
	if err != nil {
		return err
	}
	opts := minio.PutObjectOptions{ContentType: "application/json", AutoChecksum: minio.ChecksumCRC32C}
	condition(&opts)
	info, err := l.b.core.Client.PutObject(ctx, l.b.name, l.b.key(leaseName), bytes.NewReader(text), int64(len(text)),
		opts)
	if err != nil {
		return l.b.explain("lock", leaseName, err)
	}
	l.etag = info.ETag
	return nil
}

// renew renews the lease until Close.
func (l *lease) renew() {
	t := time.NewTicker(l.b.lease.renewal)
	defer t.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-t.C:
			_ = l.Held(l.ctx) // tried again; a caller that needs it asks, too
		}
	}
}

// Held implements backup.Lock: it renews the lease.
func (l *lease) Held(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return l.lost
	}
	err := l.write(ctx, func(o *minio.PutObjectOptions) { o.SetMatchETag(l.etag) })
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		if err = l.takeOver(ctx); err != nil { // unless it is ours, and the answer to an earlier request was lost
			l.lost = fmt.Errorf("the lock was lost: %w", err)
		}
	}
	return err
}

// Close implements backup.Lock.
func (l *lease) Close() error {
	l.cancel()
	l.ended.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), time.Minute)
	defer cancel()
	if l.Held(ctx) != nil {
		return nil // it ends by itself, or is another's
	}
	return l.b.Remove(ctx, leaseName)
}
