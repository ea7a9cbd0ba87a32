package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// state returns the dump of a state with so many sessions, and its description.
func state(t testing.TB, sessions int) ([]byte, Description) { return stateOf(t, "cluster", sessions) }

func stateOf(t testing.TB, cluster string, sessions int) ([]byte, Description) {
	t.Helper()
	m, err := fsm.Open(fsm.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	index := uint64(0)
	apply := func(op turn.Op) {
		t.Helper()
		b, err := codec.EncodeOp(op)
		if err != nil {
			t.Fatal(err)
		}
		index++
		out := m.Apply(index, 3, codec.AppendEntry(nil, 1000, []codec.Command{{Origin: 1, Number: index, Op: b}}))
		if out[0].Err != nil {
			t.Fatal(out[0].Err)
		}
	}
	apply(&codec.Epoch{ClusterID: cluster})
	for i := range sessions {
		text := fmt.Sprintf("%d %s", i, strings.Repeat("some text ", i%300))
		apply(&turn.Append{Key: turn.Key{Namespace: "0", Name: fmt.Sprint("s", i)},
			Messages: []turn.NewMessage{{ID: fmt.Sprint(i), Data: []byte(text)}}})
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := m.Dump()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var dump bytes.Buffer
	if _, err := d.WriteTo(&dump); err != nil {
		t.Fatal(err)
	}
	return dump.Bytes(), Description{ID: "b1", ClusterID: cluster, NodeID: "n1", Index: index,
		Bytes: int64(dump.Len()), Created: time.Unix(1_700_000_000, 0).UTC()}
}

func backup(t testing.TB, sessions int) (file, dump []byte, d Description) {
	t.Helper()
	dump, d = state(t, sessions)
	var b bytes.Buffer
	if _, err := Write(&b, d, bytes.NewReader(dump)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), dump, d
}

// What a backup is read to is the dump that it was made of, and it says what is in it.
func TestRoundTrip(t *testing.T) {
	file, dump, d := backup(t, 3000)
	if len(file) > len(dump)/3 {
		t.Errorf("a dump of %d bytes takes %d", len(dump), len(file))
	}
	r, err := NewReader(iotest.OneByteReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, dump) {
		t.Fatalf("the dump has %d bytes, the backup brings %d: %v", len(dump), len(got), err)
	}
	about, s, err := Verify(bytes.NewReader(file))
	if err != nil || about != d || s.Sessions != 3000 || s.Messages != 3000 || s.Term != 3 || s.Index != d.Index ||
		s.Parts < 2 || s.Bytes != d.Bytes {
		t.Errorf("the backup is %+v, %+v, %v", about, s, err)
	}
}

// Whichever byte is damaged, and wherever the file is cut, that is found; nothing is taken for the end.
func TestDamageIsFound(t *testing.T) {
	file, _, _ := backup(t, 40)
	for at := range file {
		bad := bytes.Clone(file)
		bad[at] ^= 1 << (at % 8)
		if _, _, err := Verify(bytes.NewReader(bad)); !turn.Is(err, turn.Corrupt) && !turn.Is(err, turn.Newer) {
			t.Errorf("a flipped bit of byte %d of %d: %v", at, len(file), err)
		}
		if _, _, err := Verify(bytes.NewReader(file[:at])); !turn.Is(err, turn.Corrupt) {
			t.Errorf("cut after %d of %d bytes: %v", at, len(file), err)
		}
	}
	if _, _, err := Verify(bytes.NewReader(append(bytes.Clone(file), 0))); !turn.Is(err, turn.Corrupt) {
		t.Errorf("with a byte behind its end: %v", err)
	}
}

// frames splits a backup.
func frames(t testing.TB, file []byte) (head []byte, all [][]byte) {
	t.Helper()
	head, rest := file[:8], file[8:]
	for len(rest) > 0 {
		n := headerSize + int(rest[1]) + int(rest[2])<<8 + int(rest[3])<<16
		all = append(all, rest[:n])
		rest = rest[n:]
	}
	return head, all
}

// Parts that are missing, doubled or exchanged are found, though each is whole.
func TestMovedPartsAreFound(t *testing.T) {
	file, _, _ := backup(t, 4000)
	head, all := frames(t, file)
	if len(all) < 5 {
		t.Fatalf("the backup has %d frames", len(all))
	}
	for what, moved := range map[string][][]byte{
		"missing":   slices.Delete(slices.Clone(all), 1, 2),
		"doubled":   slices.Insert(slices.Clone(all), 1, all[1]),
		"exchanged": append([][]byte{all[0], all[2], all[1]}, all[3:]...),
		"only ends": {all[0], all[len(all)-1]},
	} {
		bad := append(bytes.Clone(head), bytes.Join(moved, nil)...)
		if _, _, err := Verify(bytes.NewReader(bad)); !turn.Is(err, turn.Corrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A dump that is damaged, cut, or not the one that was announced becomes no backup.
func TestOnlyWholeDumpsAreWritten(t *testing.T) {
	dump, d := state(t, 100)
	bad := bytes.Clone(dump)
	bad[len(bad)/2] ^= 1
	other := d
	other.Index++
	for what, c := range map[string]struct {
		d    Description
		dump []byte
	}{"damaged": {d, bad}, "cut": {d, dump[:len(dump)-9]}, "longer": {d, append(bytes.Clone(dump), "more"...)},
		"another": {other, dump}, "empty": {d, nil}} {
		var b bytes.Buffer
		if _, err := Write(&b, c.d, bytes.NewReader(c.dump)); err == nil {
			t.Errorf("%s: a backup is written", what)
		}
		if _, _, err := Verify(&b); err == nil {
			t.Errorf("%s: what was written passes for a backup", what)
		}
	}
}

// forged is a backup as a defective writer makes it: what it says is wrong, and its checksums are right.
func forged(t *testing.T, d Description, dump []byte, c statedump.Content) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := newWriter(&b, d)
	if err == nil {
		_, err = w.Write(dump)
	}
	if err == nil {
		_, err = w.finish(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A backup that holds something else than it says is refused, whatever its checksums are.
func TestBackupHoldsWhatItSays(t *testing.T) {
	dump, d := state(t, 20)
	content, err := statedump.Inspect(bytes.NewReader(dump))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Verify(bytes.NewReader(forged(t, d, dump, content))); err != nil {
		t.Fatalf("a true one: %v", err)
	}
	none := content
	none.Members = []string{} // as another writer of JSON has no members
	if _, _, err := Verify(bytes.NewReader(forged(t, d, dump, none))); err != nil {
		t.Errorf("with an empty list in place of none: %v", err)
	}
	longer := append(bytes.Clone(dump), "more"...)
	other, index, fewer, later := d, d, content, content
	other.ClusterID, index.Index = "other", d.Index+1
	fewer.Messages--
	later.Clock++
	for what, file := range map[string][]byte{
		"the state of another cluster":  forged(t, other, dump, content),
		"the state as of another entry": forged(t, index, dump, content),
		"fewer messages":                forged(t, d, dump, fewer),
		"another time":                  forged(t, d, dump, later),
		"something behind the state":    forged(t, d, longer, content),
	} {
		if _, _, err := Verify(bytes.NewReader(file)); !turn.Is(err, turn.Corrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	r, err := NewReader(bytes.NewReader(forged(t, d, longer, content))) // as a restore reads it
	if err == nil {
		_, err = io.ReadFull(r, make([]byte, len(dump)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Finish(content); !turn.Is(err, turn.Corrupt) {
		t.Errorf("something behind the state, when the state was read: %v", err)
	}
}

// Each thing that a summary counts is held against the dump.
func TestEachCountIsCompared(t *testing.T) {
	dump, _ := state(t, 5)
	content, err := statedump.Inspect(bytes.NewReader(dump))
	if err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[statedump.Content]().NumField() {
		forged, name := content, reflect.TypeFor[statedump.Content]().Field(i).Name
		switch f := reflect.ValueOf(&forged).Elem().Field(i); {
		case name == "Streams": // restore shows it, no summary has it
			continue
		case f.CanUint():
			f.SetUint(f.Uint() + 1)
		case f.CanInt():
			f.SetInt(f.Int() + 1)
		case f.Kind() == reflect.String:
			f.SetString("other")
		default:
			f.Set(reflect.ValueOf([]string{"other"}))
		}
		var s Summary
		s.contains(&forged)
		if s.disagrees(&content) == "" || s.disagrees(&forged) != "" {
			t.Errorf("another %s is not found", name)
		}
	}
}

// A backup whose description or summary says something else than its dump is found by what restores it, too:
// its checksums are right.
func TestForgedDescription(t *testing.T) {
	dump, honest := state(t, 20)
	for what, forge := range map[string]func(*Description, *statedump.Content){
		"cluster":  func(d *Description, c *statedump.Content) { d.ClusterID = "another" },
		"entry":    func(d *Description, c *statedump.Content) { d.Index += 100 },
		"bytes":    func(d *Description, c *statedump.Content) { d.Bytes-- },
		"sessions": func(d *Description, c *statedump.Content) { c.Sessions++ },
		"members":  func(d *Description, c *statedump.Content) { c.Members = []string{"mallory"} },
		"both":     func(d *Description, c *statedump.Content) { d.Index, c.Index = 1000, 1000 },
	} {
		d := honest
		content, err := statedump.Inspect(bytes.NewReader(dump))
		if err != nil {
			t.Fatal(err)
		}
		forge(&d, &content)
		r, err := NewReader(bytes.NewReader(forged(t, d, dump, content)))
		if err != nil {
			t.Fatal(err)
		}
		held, err := statedump.Renew(io.Discard, r, statedump.Renewal{ClusterID: "new"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Finish(held); !turn.Is(err, turn.Corrupt) {
			t.Errorf("a forged %s: %v", what, err)
		}
	}
}

// A file has its name only when it is whole; one that was there before stays until then.
func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.tlb")
	write := func(text string, err error) error {
		return WriteFile(path, func(w io.Writer) error {
			_, werr := io.WriteString(w, text)
			return errors.Join(err, werr)
		})
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("second", syscall.ENOSPC); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "first" {
		t.Errorf("the file has %q", b)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is for others, too: %v, %v", info.Mode(), err)
	}
}

// addTo adds a backup that goes up to a log entry, as a process does.
func addTo(t *testing.T, dir, cluster string, index int) (rotated error) {
	t.Helper()
	f, err := OpenRepository(t.Context(), NewFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := OpenRepository(t.Context(), NewFolder(dir)); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a second process opens the folder: %v", err)
	}
	dump, d := stateOf(t, cluster, index-1)
	name, err := f.Add(t.Context(), d, func(w io.Writer) error {
		_, err := Write(w, d, bytes.NewReader(dump))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Rotate(t.Context(), name, 2)
	return err
}

func listed(t *testing.T, dir string) (got []string) {
	t.Helper()
	all, err := List(t.Context(), NewFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Err != nil {
			got = append(got, "damaged "+filepath.Base(e.Path))
		} else {
			got = append(got, fmt.Sprint(e.Description.ClusterID, e.Description.Index))
		}
	}
	return got
}

// Of a folder, the oldest backups of the same cluster go, and nothing else; what a crash left goes with the
// next one.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]*")
	add := func(cluster string, index int) {
		t.Helper()
		if err := addTo(t, dir, cluster, index); err != nil {
			t.Error(err)
		}
	}
	add("a", 9)
	for _, stray := range []string{"turnlog-mine.tlb", "other.tlb", "turnlog-1.tlb.partial"} {
		if err := os.WriteFile(filepath.Join(dir, stray), []byte("stray"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, index := range []int{10, 11, 100} {
		add("a", index)
	}
	add("b", 2)
	add("b", 11) // in the same second as that of the other cluster
	got, want := listed(t, dir), []string{"damaged turnlog-mine.tlb", "a11", "a100", "b2", "b11"}
	if !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
	for stray, kept := range map[string]bool{
		"turnlog-mine.tlb": true, "other.tlb": true, "turnlog-1.tlb.partial": false,
	} {
		if _, err := os.Stat(filepath.Join(dir, stray)); (err == nil) != kept {
			t.Errorf("%s: %v", stray, err)
		}
	}
}

// A backup that goes less far than one that is there takes nothing's place: the nodes went back to an older
// state, and which of both is wanted is not for a rotation to decide.
func TestRotationKeepsWhatGoesFurther(t *testing.T) {
	dir := t.TempDir()
	for _, index := range []int{20, 21} {
		if err := addTo(t, dir, "a", index); err != nil {
			t.Fatal(err)
		}
	}
	if err := addTo(t, dir, "a", 5); err == nil {
		t.Error("the rotation says nothing")
	}
	if got, want := listed(t, dir), []string{"a5", "a20", "a21"}; !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
}

// A file that another process is writing is left to it, a link is not followed, and what a crash left is replaced.
func TestOneProcessWritesAFile(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "b.tlb"), filepath.Join(dir, "target")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := WriteFile(path, func(w io.Writer) error {
		if err := WriteFile(path, text("second")); err == nil {
			t.Error("two write the same file at once")
		}
		return text("first")(w)
	}); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "first" {
		t.Errorf("the file has %q", b)
	}
	if err := errors.Join(os.WriteFile(target, []byte("kept"), 0o600), os.Symlink(target, path+Partial)); err != nil {
		t.Fatal(err)
	}
	_ = WriteFile(path, text("third")) // may be rejected
	if b, _ := os.ReadFile(target); string(b) != "kept" {
		t.Errorf("a link was followed: %q", b)
	}
	if err := errors.Join(os.Remove(path+Partial),
		os.WriteFile(path+Partial, []byte("left by a crash"), 0o644)); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := WriteFile(path, text("fourth")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Size() != int64(len("fourth")) {
		t.Errorf("%v, %v", info, err)
	}
}

func FuzzVerify(f *testing.F) {
	file, _, _ := backup(f, 3)
	f.Add(file)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := Verify(bytes.NewReader(b)); err == nil && !bytes.Equal(b, file) {
			t.Skip() // another backup
		}
	})
}
