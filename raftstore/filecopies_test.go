package raftstore

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/smallfile"
)

// checkCopies damages each copy of a file by a flipped bit here and there, and in ways that
// are more: open must find what was written, and leave both copies whole.
func checkCopies(t *testing.T, path string, open func() (any, error)) {
	t.Helper()
	want, err := open()
	if err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(damaged string, content []byte) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, sound, 0o600), os.WriteFile(smallfile.SecondCopy(path), sound, 0o600)); err != nil {
			t.Fatal(err)
		}
		err := os.Remove(damaged)
		if content != nil {
			err = os.WriteFile(damaged, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := open(); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is %q: read as %+v, %v", filepath.Base(damaged), content, got, err)
		}
		for _, p := range []string{path, smallfile.SecondCopy(path)} {
			if b, err := os.ReadFile(p); err != nil || !bytes.Equal(b, sound) {
				t.Fatalf("%s was %q: %s is %q after that, %v", filepath.Base(damaged), content, filepath.Base(p), b, err)
			}
		}
	}
	for _, damaged := range []string{path, smallfile.SecondCopy(path)} {
		for at := 0; at < len(sound); at += 5 { // each takes some syncs
			b := bytes.Clone(sound)
			b[at] ^= 1 << (at % 8)
			check(damaged, b)
		}
		check(damaged, sound[:len(sound)/2])
		check(damaged, []byte{})
		check(damaged, nil)
	}
}

func TestDamagedCopyIsMended(t *testing.T) {
	dir := t.TempDir()
	i, err := openIdentity(dir, "n1", testLogger())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.learnCluster("c"); err != nil {
		t.Fatal(err)
	}
	checkCopies(t, i.path, func() (any, error) {
		i, err := openIdentity(dir, "n1", testLogger())
		if err != nil {
			return nil, err
		}
		return i.v, nil
	})
	s, err := openSnapshots(filepath.Join(dir, snapshotsName), nil, 0, systemClock{}, testLogger())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.keep(marker{Index: 7, Term: 2, Servers: servers(3).Servers, ConfigAt: 1}); err != nil {
		t.Fatal(err)
	}
	checkCopies(t, s.path(markerName), func() (any, error) {
		s, err := openSnapshots(s.dir, nil, 0, systemClock{}, testLogger())
		if err != nil {
			return nil, err
		}
		return *s.newest, nil
	})
}

// Versions without second copies leave an older one behind, and crashes a newer one.
func TestNewerCopyCounts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, markerName)
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
		"an older version wrote the first":   {marker{Index: 9, Term: 1}, marker{Index: 5, Term: 1}, marker{Index: 9, Term: 1}},
		"a crash left the second":            {marker{Index: 5, Term: 1}, marker{Index: 9, Term: 1}, marker{Index: 9, Term: 1}},
		"a crash after the state was taken":  {marker{Index: 9, Received: true}, marker{Index: 9}, marker{Index: 9}},
		"a crash before the state was taken": {marker{Index: 5}, marker{Index: 9, Received: true}, marker{Index: 9, Received: true}},
	} {
		put(path, c.first)
		put(smallfile.SecondCopy(path), c.second)
		s, err := openSnapshots(dir, nil, 0, systemClock{}, testLogger())
		if err != nil {
			t.Fatal(name, err)
		}
		if p := s.newest; p.Index != c.want.Index || p.Received != c.want.Received {
			t.Errorf("%s: the marker is %+v", name, p)
		}
		if m, err := readMarker(path); err != nil || m.Differ {
			t.Errorf("%s: the copies differ: %+v, %v", name, m, err)
		}
	}
}

// A node whose identity is gone from both copies is not given a new one while it has
// a vote to remember.
func TestIdentityIsNotInvented(t *testing.T) {
	dir := t.TempDir()
	if _, err := openIdentity(dir, "n1", testLogger()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, identityName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(smallfile.SecondCopy(path), 20); err != nil {
		t.Fatal(err)
	}
	if _, err := openIdentity(dir, "n1", testLogger()); err == nil || !strings.Contains(err.Error(), reseed) {
		t.Errorf("one copy is missing, the other damaged: %v", err)
	}
	if err := checkTermKept(dir); err == nil || !strings.Contains(err.Error(), stableName) {
		t.Errorf("term and vote are missing, and so is the first copy of the identity: %v", err)
	}
	if err := os.Remove(smallfile.SecondCopy(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := checkTermKept(dir); err != nil {
		t.Errorf("a new directory: %v", err)
	}
}
