package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
		if err := d.AddPassword("ann", cheap("t"), false); err != nil {
			t.Fatal(err)
		}
		if err := d.Save(); err != nil {
			t.Fatal(err)
		}
		again, err := Edit(path)
		if err != nil {
			t.Fatal(err)
		}
		users, passwords, err := again.List()
		if err != nil || len(users) != 1 || !users[0].Same(&u) || fmt.Sprint(passwords) != "[2]" {
			t.Errorf("from %q: %+v, passwords %v, %v", before, users, passwords, err)
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

// A user has no more passwords than can be verified, unless they take the place of those before.
func TestDraftBoundsPasswords(t *testing.T) {
	d, err := Edit(filepath.Join(t.TempDir(), "users.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u := User{Name: "ann", Right: Read, Namespaces: []string{"0"}}
	if err := d.Add(u, cheap("s")); err != nil {
		t.Fatal(err)
	}
	for i := range maxPasswords {
		if err := d.AddPassword("ann", cheap("t"), false); (err == nil) != (i+1 < maxPasswords) {
			t.Errorf("beside %d passwords: %v", i+1, err)
		}
	}
	if err := d.AddPassword("ann", cheap("t"), true); err != nil {
		t.Error(err)
	}
	if _, passwords, err := d.List(); err != nil || fmt.Sprint(passwords) != "[1]" {
		t.Errorf("in place of the others: %v, %v", passwords, err)
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

// A file that calls passwords secrets, as they were called first, is read, and keeps the word when it is changed.
func TestDraftKeepsTheOldWord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	write(t, path, "version: 1\nusers:\n  - name: ann\n    secrets: ['"+cheap("s")+"']\n    right: read\n"+
		"    namespaces: ['0']\n")
	d, err := Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(d.AddPassword("ann", cheap("t"), false),
		d.Add(User{Name: "bob", Right: Read, Namespaces: []string{"0"}}, cheap("b")), d.Save())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "secrets:") != 2 || strings.Contains(string(text), "passwords:") {
		t.Errorf("%v\n%s", err, text)
	}
	users, err := parse(text)
	if err != nil || len(users["ann"].passwords) != 2 || len(users["bob"].passwords) != 1 {
		t.Errorf("%+v, %v", users, err)
	}
}

// A user has passwords under one word: another list of them could be missed by who takes one away.
func TestUserWithBothWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	write(t, path, "version: 1\nusers:\n  - name: ann\n    passwords: ['"+cheap("s")+"']\n    secrets: ['"+
		cheap("leaked")+"']\n    right: read\n    namespaces: ['0']\n")
	if _, err := Edit(path); err == nil || !strings.Contains(err.Error(), "keep one of the two") {
		t.Errorf("edited: %v", err)
	}
	if _, err := Open(path, "", slog.New(slog.DiscardHandler)); err == nil {
		t.Error("it is opened")
	}
}
