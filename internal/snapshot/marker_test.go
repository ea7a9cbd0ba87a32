package snapshot

import (
	"path/filepath"
	"testing"

	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/internal/smallfile/copytest"
)

func TestDamagedMarkerIsMended(t *testing.T) {
	dir := t.TempDir()
	s, err := openQuietly(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.keep(marker{Index: 7, Term: 2, Servers: servers(3).Servers, ConfigAt: 1}); err != nil {
		t.Fatal(err)
	}
	copytest.Check(t, s.path(MarkerName), func() (any, error) {
		s, err := openQuietly(s.dir, nil)
		if err != nil {
			return nil, err
		}
		return *s.newest, nil
	})
}

// Versions without second copies leave an older one behind, and crashes a newer one.
func TestNewerCopyCounts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, MarkerName)
	put := func(path string, m marker) {
		t.Helper()
		b, err := m.encode()
		if err == nil {
			err = smallfile.Replace(path, b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ first, second, want marker }{
		"an older version wrote the first": {marker{Index: 9, Term: 1}, marker{Index: 5, Term: 1},
			marker{Index: 9, Term: 1}},
		"a crash left the second": {marker{Index: 5, Term: 1}, marker{Index: 9, Term: 1},
			marker{Index: 9, Term: 1}},
		"a crash after the state was taken": {marker{Index: 9, Received: true}, marker{Index: 9}, marker{Index: 9}},
		"a crash before the state was taken": {marker{Index: 5}, marker{Index: 9, Received: true},
			marker{Index: 9, Received: true}},
	} {
		put(path, c.first)
		put(smallfile.SecondCopy(path), c.second)
		s, err := openQuietly(dir, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if p := s.newest; p.Index != c.want.Index || p.Received != c.want.Received {
			t.Errorf("%s: the marker is %+v", name, p)
		}
		if m, err := readMarker(path, advice); err != nil || m.Differ {
			t.Errorf("%s: the copies differ: %+v, %v", name, m, err)
		}
	}
}
