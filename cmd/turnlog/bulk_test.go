package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/bulk"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/jsonl"
	"github.com/turnlog/turnlog/turn"
)

// conversations makes lines of sessions in every form that import takes, with
// what must be stored: key to messages.
func conversations(n int) (text []byte, want map[string][]turn.NewMessage) {
	r := rand.New(rand.NewPCG(1, 2))
	want = map[string][]turn.NewMessage{}
	for i := range n {
		key := fmt.Sprintf("session/%03d \"é\" <&>", i)
		if i == 3 {
			key = "not \xff UTF-8\x00"
		}
		text = jsonl.AppendLineStart(text, key, nil, turn.Retention{})
		for j := range r.IntN(40) {
			m := turn.NewMessage{ID: fmt.Sprintf("%d#%d", i, j),
				Data: fmt.Appendf(nil, `{"role":"user", "content":"<%d> é\u00e9\/ %x",  "id":"%d#%d"}`, r.Int(),
					r.Uint64(), i, j)}
			if j > 0 {
				text = append(text, ", "...)
			}
			switch j % 3 {
			case 0: // a chat message, stored whole
				text = append(text, m.Data...)
			case 1: // wrapped
				text = fmt.Appendf(text, `{"id":%q,"data": %s }`, m.ID, m.Data)
			case 2: // no JSON
				m.Data = []byte{0, 255, byte(j), '\n'}
				text = jsonl.AppendMessage(text, &turn.Message{Seq: 99, Time: 1, ID: m.ID, Data: m.Data})
			}
			want[key] = append(want[key], m)
		}
		text = append(text, "]}\n"...)
	}
	return text, want
}

// parseExport reads what export wrote.
func parseExport(t *testing.T, text []byte) (got map[string][]turn.NewMessage, keys []string) {
	t.Helper()
	got = map[string][]turn.NewMessage{}
	for l := range bytes.Lines(text) {
		parsed, err := jsonl.ParseLine(l)
		if err != nil {
			t.Fatalf("%v in %s", err, l)
		}
		got[parsed.Session] = parsed.Messages
		keys = append(keys, parsed.Session)
	}
	return got, keys
}

func sameConversations(t *testing.T, got, want map[string][]turn.NewMessage) {
	t.Helper()
	for key, messages := range want {
		if len(got[key]) != len(messages) {
			t.Errorf("%q: %d messages, want %d", key, len(got[key]), len(messages))
			continue
		}
		for i, m := range messages {
			if g := got[key][i]; g.ID != m.ID || !bytes.Equal(g.Data, m.Data) {
				t.Fatalf("%q, message %d: %q %q, want %q %q", key, i, g.ID, g.Data, m.ID, m.Data)
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d sessions, want %d", len(got), len(want))
	}
}

func TestImportExport(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	dir := t.TempDir()
	text, want := conversations(150)
	plainFile, zipFile := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "in.jsonl.gz")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(text)
	z.Close()
	write(t, plainFile, text)
	write(t, zipFile, zipped.Bytes())
	messages := 0
	for _, ms := range want {
		messages += len(ms)
	}

	var totals bulk.ImportTotals
	importing := func(args ...string) bulk.ImportTotals {
		t.Helper()
		totals = bulk.ImportTotals{}
		if err := json.Unmarshal([]byte(n.ok(append([]string{"--json", "import"}, args...)...)), &totals); err != nil {
			t.Fatal(err)
		}
		return totals
	}
	if got := importing(zipFile); got != (bulk.ImportTotals{Sessions: 150, Added: int64(messages)}) {
		t.Fatalf("import: %+v, want %d messages", got, messages)
	}
	known := bulk.ImportTotals{Sessions: 150, Duplicates: int64(messages)}
	if got := importing(plainFile, "--workers", "3"); got != known {
		t.Fatalf("second import: %+v", got)
	}

	out := filepath.Join(dir, "out.jsonl.gz")
	n.ok("export", "-o", out, "--gzip")
	r, err := gzip.NewReader(bytes.NewReader(read(t, out)))
	if err != nil {
		t.Fatal(err)
	}
	var unpacked bytes.Buffer
	if _, err := unpacked.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	got, keys := parseExport(t, unpacked.Bytes())
	sameConversations(t, got, want)
	for i := 1; i < len(keys); i++ {
		if keys[i] <= keys[i-1] {
			t.Errorf("%q follows %q", keys[i], keys[i-1])
		}
	}
	if got := n.ok("export", "session/00"); strings.Count(got, "\n") != 9 {
		t.Errorf("export by prefix: %d lines", strings.Count(got, "\n"))
	}
	// What export wrote goes into another namespace, through a pipe.
	if r := n.pipe(unpacked.String(), "-n", "copy", "import", "-"); r.status != 0 {
		t.Fatal(r)
	}
	again, _ := parseExport(t, []byte(n.ok("-n", "copy", "export")))
	sameConversations(t, again, want)
	if left, err := filepath.Glob(filepath.Join(dir, "*partial*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestImportLongSession: ids that the server has forgotten are still recognised,
// and a file that has grown adds only what is new.
func TestImportLongSession(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	line := func(count int) string {
		text := jsonl.AppendLineStart(nil, "long", nil, turn.Retention{})
		for i := range count {
			if i > 0 {
				text = append(text, ',')
			}
			text = fmt.Appendf(text, `{"id":"m%d","content":"%d"}`, i, i)
		}
		return string(text) + "]}\n"
	}
	for _, step := range []struct{ count, added int }{{700, 700}, {750, 50}, {2500, 1750}, {2500, 0}, {2510, 10}} {
		r := n.pipe(line(step.count), "import", "-", "--json")
		want := fmt.Sprintf(`{"sessions":1,"messages_added":%d,"duplicates":%d,"failed_lines":0}`, step.added,
			step.count-step.added)
		if r.status != 0 || r.stdout != want+"\n" {
			t.Fatalf("status %d, %s want %s\n%s", r.status, r.stdout, want, r.stderr)
		}
	}
	got, _ := parseExport(t, []byte(n.ok("export")))
	for i, m := range got["long"] {
		if m.ID != fmt.Sprint("m", i) {
			t.Fatalf("message %d is %q", i, m.ID)
		}
	}
}

func TestImportBadLines(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir(), "--max-message-bytes", "4KiB", "--max-append-bytes", "4KiB",
		"--max-read-bytes", "4KiB")
	good := func(i int) string { return fmt.Sprintf(`{"session":"s%d","messages":[{"data":1},{"data":2}]}`, i) }
	const bad = `{"session":"bad","messages":[{"data":1},{"data":2,"data_base64":""}]}`

	r := n.pipe(good(1)+"\n\n"+bad+"\n"+good(2), "import", "-")
	if r.status != cli.ExitUsage || !strings.Contains(r.stderr, "line 3: message 2: both data and data_base64") ||
		!strings.Contains(r.stderr, "1 session, 2 messages added, 0 there already, 1 line failed") {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
	if got := n.ok("sessions", "--json"); strings.Count(got, "\n") != 1 {
		t.Errorf("sessions after a bad line: %s", got)
	}

	tooLong := fmt.Sprintf(`{"session":"s3","messages":[{"data":"%s"}]}`, strings.Repeat("x", 5000))
	r = n.pipe(strings.Join([]string{good(1), bad, tooLong, good(2), good(4)}, "\n"), "import", "-",
		"--keep-going", "--json")
	if r.status != cli.ExitUsage ||
		!strings.Contains(r.stdout, `"messages_added":4,"duplicates":2,"failed_lines":2`) {
		t.Errorf("status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	for _, text := range []string{"\x1f\x8b broken gzip", "[1,2]", "{", `{"session":"x","messages":[]}{}`,
		`{"session":"x","messages":[{"id":"a","data":1},{"id":"a","data":1}]}`} {
		if r := n.pipe(text, "import", "-"); r.status != cli.ExitUsage {
			t.Errorf("%q: status %d, %s", text, r.status, r.stderr)
		}
	}
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
