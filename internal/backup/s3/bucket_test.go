package s3

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/backup/s3/s3test"
	"github.com/turnlog/turnlog/internal/backup/storagetest"
)

func open(t *testing.T, s *s3test.Server, prefix string) *Bucket {
	t.Helper()
	b, err := Open(s.URL+prefix, Config{Getenv: s.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBucketIsAStorage(t *testing.T) {
	s := s3test.Start(t)
	for _, prefix := range []string{"/a", "/b/c/", "/b"} { // what is below b is in another folder than b
		storagetest.Run(t, func(t *testing.T) backup.Storage {
			return open(t, s, prefix+"/"+strings.ToLower(filepath.Base(t.Name())))
		})
	}
}

// A lock whose holder has died is over after its life, counted by the store's clock, and not before. The holder, if
// it was only slow, learns that it has lost it, and leaves the lock of the next one alone.
func TestLeaseOfADeadProcess(t *testing.T) {
	s := s3test.Start(t)
	dead, next := open(t, s, "/x"), open(t, s, "/x")
	dead.lease = leaseTimes{life: time.Hour, renewal: time.Hour}
	held, err := dead.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next.lease = leaseTimes{life: time.Hour, renewal: time.Hour}
	_, err = next.Lock(t.Context())
	if err == nil || !strings.Contains(err.Error(), "another backup is being written") {
		t.Fatalf("the lock of a process that may live is taken: %v", err)
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(s.Dir, "x", leaseName), long, long); err != nil {
		t.Fatal(err)
	}
	taken, err := next.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Held(t.Context()); err == nil {
		t.Error("both hold the lock")
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if err := taken.Held(t.Context()); err != nil {
		t.Errorf("the first one's end took it away: %v", err)
	}
	if err := taken.Close(); err != nil {
		t.Error(err)
	}
}

// What a dead process left of an upload is removed by the next one that locks the bucket.
func TestInterruptedUploadsAreRemoved(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s, "/x")
	ended := make(chan error)
	proceed := make(chan struct{})
	go func() {
		ended <- b.Write(t.Context(), "turnlog-1.tlb", 100<<20, func(w io.Writer) error {
			if _, err := w.Write(make([]byte, 40<<20)); err != nil {
				return err
			}
			<-proceed
			_, err := w.Write(make([]byte, 40<<20))
			return err
		})
	}()
	uploads := func() (n int) {
		for u := range b.core.ListIncompleteUploads(t.Context(), b.name, b.prefix, true) {
			if u.Err != nil {
				t.Fatal(u.Err)
			}
			n++
		}
		return n
	}
	for deadline := time.Now().Add(30 * time.Second); uploads() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("there is no upload")
		}
	}
	l, err := b.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n := uploads(); n != 0 {
		t.Errorf("%d uploads are left", n)
	}
	close(proceed)
	if err := <-ended; err == nil {
		t.Error("an upload that was removed went on")
	}
	if _, _, err := b.Read(t.Context(), "turnlog-1.tlb", 0); err == nil {
		t.Error("an upload that was removed made an object")
	}
}

// Errors say what is wrong: the bucket, the rights, the address.
func TestErrorsName(t *testing.T) {
	s := s3test.Start(t)
	for what, c := range map[string]struct {
		url    string
		env    map[string]string
		expect string
	}{
		"no such bucket": {"s3://other", nil, "bucket does not exist"},
		"wrong secret":   {s.URL, map[string]string{"AWS_SECRET_ACCESS_KEY": "wrong"}, "signature"},
		"no endpoint":    {s.URL, map[string]string{"AWS_ENDPOINT_URL_S3": "localhost:1"}, "must be a URL"},
	} {
		b, err := Open(c.url, Config{Getenv: func(name string) string {
			if v, ok := c.env[name]; ok {
				return v
			}
			return s.Getenv(name)
		}})
		if err == nil {
			_, err = b.Lock(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.expect) || errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
