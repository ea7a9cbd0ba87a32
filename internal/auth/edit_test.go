package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A user keeps every limit that it was added with, wherever the list stands in the file.
func TestDraftKeepsLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	for _, before := range []string{"users: []\nversion: 1\n", "version: 1\n"} {
		write(t, path, before)
		d, err := Edit(path)
		if err != nil {
			t.Fatal(err)
		}
		u := User{Name: "ann", Right: Read, Namespaces: []string{"0"}}
		u.Prefixes, u.Channels = []string{"p"}, []string{"c", "12"}
		if err := d.Add(u, cheap("s")); err != nil {
			t.Fatal(err)
		}
		if err := d.Add(u, cheap("s")); err == nil {
			t.Error("a user is added twice")
		}
		if err := d.AddSecret("ann", cheap("t"), false); err != nil {
			t.Fatal(err)
		}
		if err := d.Save(); err != nil {
			t.Fatal(err)
		}
		again, err := Edit(path)
		if err != nil {
			t.Fatal(err)
		}
		users, secrets, err := again.List()
		if err != nil || len(users) != 1 || !users[0].Same(&u) || fmt.Sprint(secrets) != "[2]" {
			t.Errorf("from %q: %+v, secrets %v, %v", before, users, secrets, err)
		}
	}
}

// A user to whom no channel was given hears none, which is not the same as no list of channels.
func TestDraftKeepsAnEmptyList(t *testing.T) {
	d, err := Edit(filepath.Join(t.TempDir(), "users.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Add(User{Name: "ann", Right: Read, Namespaces: []string{"0"}, Channels: []string{}},
		cheap("s")); err != nil {
		t.Fatal(err)
	}
	users, _, err := d.List()
	if err != nil || users[0].Channels == nil || users[0].MayHear([]string{"0"}, []byte("c")) {
		t.Errorf("%+v, %v", users, err)
	}
}

// A user has no more secrets than can be verified, unless they take the place of those before.
func TestDraftBoundsSecrets(t *testing.T) {
	d, err := Edit(filepath.Join(t.TempDir(), "users.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u := User{Name: "ann", Right: Read, Namespaces: []string{"0"}}
	if err := d.Add(u, cheap("s")); err != nil {
		t.Fatal(err)
	}
	for i := range maxSecrets {
		if err := d.AddSecret("ann", cheap("t"), false); (err == nil) != (i+1 < maxSecrets) {
			t.Errorf("beside %d secrets: %v", i+1, err)
		}
	}
	if err := d.AddSecret("ann", cheap("t"), true); err != nil {
		t.Error(err)
	}
	if _, secrets, err := d.List(); err != nil || fmt.Sprint(secrets) != "[1]" {
		t.Errorf("in place of the others: %v, %v", secrets, err)
	}
}

// A users file that cannot be read cannot be changed, either.
func TestEditRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	for _, text := range []string{"version: 2\nusers: []\n", "version: 1\n\tx", "\x00"} {
		write(t, path, text)
		if _, err := Edit(path); err == nil {
			t.Errorf("%q can be changed", text)
		}
	}
	if _, err := Edit(filepath.Dir(path)); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory: %v", err)
	}
}

// A change that fails stands in the way of no other.
func TestFailedSaveLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	text := head + user("ann", "s", "right: read\n    namespaces: []")
	write(t, path, text)
	d, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, text+"# by hand\n")
	if err := d.Save(); !errors.Is(err, ErrBusy) {
		t.Errorf("the file has changed: %v", err)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed change leaves its file behind: %v", err)
	}
	if d, err = Edit(path); err != nil {
		t.Fatal(err)
	}
	field(d.users.Content[0], "right").Value = "root"
	if err := d.Save(); err == nil {
		t.Error("a file that cannot be read is written")
	}
}
