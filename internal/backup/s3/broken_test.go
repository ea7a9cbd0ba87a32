package s3

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/backup/s3/s3test"
	"github.com/turnlog/turnlog/turn"
)

// Uploads of other programs are none of ours, whatever they are called.
func TestLockLeavesOthersUploads(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s, "/x")
	ours := []string{"x/packs/1.tlp", "x/turnlog-1.tlb", "x/turnlog-1.tli"}
	others := []string{"x/nested/turnlog-1.tlb", "x/packs/nested/1.tlp", "x/packs/other", "x/turnlog-nested/1.tlb",
		"x/video"}
	for _, key := range slices.Concat(ours, others) {
		if _, err := b.core.NewMultipartUpload(t.Context(), b.name, key, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := b.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var left []string
	for u := range b.core.ListIncompleteUploads(t.Context(), b.name, b.prefix, true) {
		if u.Err != nil {
			t.Fatal(u.Err)
		}
		left = append(left, u.Key)
	}
	if slices.Sort(left); !slices.Equal(left, others) {
		t.Errorf("uploads left: %q, should be %q", left, others)
	}
}

// A connection that ends within an object is no damage of the object.
func TestCutConnectionIsNoDamage(t *testing.T) {
	s := s3test.Start(t)
	store, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	cutting := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(store)
			r.Out.Host = r.In.Host // which is signed
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodGet && r.ContentLength > 100 {
				r.Body = struct {
					io.Reader
					io.Closer
				}{io.LimitReader(r.Body, 50), r.Body}
			}
			return nil
		}})
	defer cutting.Close()
	const name = "turnlog-1.tlb"
	if err := open(t, s, "/x").Write(t.Context(), name, 1<<20, func(w io.Writer) error {
		_, err := w.Write(append([]byte("TLBACKU\x01D\xe8\x03\x00\x00\xe8\x03\x00\x00"), make([]byte, 991)...))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	b, err := Open(s.URL+"/x", Config{Endpoint: cutting.URL, Getenv: s.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	in, size, err := b.Read(t.Context(), name, 8)
	if err != nil || size != 1008 {
		t.Fatal(size, err)
	}
	defer in.Close()
	_, err = io.ReadAll(in)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		!strings.Contains(err.Error(), "the connection ended") {
		t.Errorf("a cut object ends with %v", err)
	}
	if _, _, err := backup.VerifyIn(t.Context(), b, name); err == nil || turn.Is(err, turn.Corrupt) {
		t.Errorf("verifying a cut object: %v", err)
	}
}

// What is missing is said, and a password in an endpoint is not repeated.
func TestConfigThatCannotWork(t *testing.T) {
	for _, c := range []struct{ variable, value, expect string }{
		{"AWS_SECRET_ACCESS_KEY", "", "AWS_SECRET_ACCESS_KEY"},
		{"AWS_ENDPOINT_URL_S3", "https://me:pass-word@localhost:9000", "user"},
		{"AWS_ENDPOINT_URL_S3", "https://me:pass-word@local host:9000", "user"},
		{"AWS_ENDPOINT_URL_S3", "me:pass-word@localhost:9000", "user"},
	} {
		_, err := Open("s3://bucket", Config{Getenv: func(name string) string {
			if name == c.variable {
				return c.value
			}
			return map[string]string{"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret"}[name]
		}})
		if err == nil || !strings.Contains(err.Error(), c.expect) || strings.Contains(err.Error(), "pass-word") {
			t.Errorf("%s=%s: %v", c.variable, c.value, err)
		}
	}
}
