package auth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/turnlog/turnlog/turn"
)

// cheap hashes a password with the least effort that is allowed.
func cheap(password string) string {
	salt := []byte("saltsalt")
	h := hashed{cost: cost{memory: 8, passes: 1, lanes: 1}, salt: salt,
		key: argon2.IDKey([]byte(password), salt, 1, 8, 1, 32)}
	return h.String()
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, text string) (*Users, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.yaml")
	write(t, path, text)
	u, err := Open(path, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return u, path
}

// user is an entry of a users file.
func user(name, password, rest string) string {
	return fmt.Sprintf("  - name: %s\n    passwords: [%q]\n    %s\n", name, cheap(password), rest)
}

const head = "version: 1\nusers:\n"

func TestAuthenticate(t *testing.T) {
	u, _ := open(t, head+user("ann", "s1", "right: read\n    namespaces: [\"0\"]")+user("bob", "s2",
		"right: admin\n    namespaces: []"))
	for _, c := range []struct {
		name, password string
		ok             bool
	}{
		{"ann", "s1", true}, {"ann", "s1", true}, {"ann", "s2", false}, {"bob", "s2", true}, {"bob", "s1", false},
		{"carl", "s1", false}, {"", "s1", false}, {"ann", "", false}, {"ann", "s1 ", false},
		{"ann", strings.Repeat("x", MaxPassword+1), false},
		{"bob", "s2", true}, {"ann\x00", "s1", false},
	} {
		l, err := u.Authenticate(c.name, c.password, "test")
		if (err == nil) != c.ok || err != nil && turn.KindOf(err) != turn.Unauthorized {
			t.Errorf("%q with %.10q: %v", c.name, c.password, err)
		}
		if found := u.Current().Find(l); (found != nil) != c.ok || c.ok && found.Name != c.name {
			t.Errorf("%q is found as %+v", c.name, found)
		}
	}
	if u.Current().Find(Login{}) != nil || u.Current().Find(Login{Name: "ann"}) != nil {
		t.Error("a login without a proof is somebody's")
	}
}

func TestRights(t *testing.T) {
	all := &User{Right: Admin, Namespaces: []string{"*"}}
	some := &User{Right: Write, Namespaces: []string{"0", "eu"}, Prefixes: []string{"chat:", "memo"},
		Channels: []string{"chat:"}}
	nothing := &User{Right: Read, Namespaces: []string{}}
	var anybody *User
	for _, c := range []struct {
		what                         string
		anybody, all, some, nothing_ bool
		ask                          func(*User) bool
	}{
		{"read", true, true, true, true, func(u *User) bool { return u.May(Read) }},
		{"write", true, true, true, false, func(u *User) bool { return u.May(Write) }},
		{"admin", true, true, false, false, func(u *User) bool { return u.May(Admin) }},
		{"namespace 0", true, true, true, false, func(u *User) bool { return u.MayEnter("0") }},
		{"namespace us", true, true, false, false, func(u *User) bool { return u.MayEnter("us") }},
		{"key chat:1", true, true, true, true, func(u *User) bool { return u.MayTouch([]byte("chat:1")) }},
		{"key chat:", true, true, true, true, func(u *User) bool { return u.MayTouch([]byte("chat:")) }},
		{"key chat", true, true, false, true, func(u *User) bool { return u.MayTouch([]byte("chat")) }},
		{"key xchat:", true, true, false, true, func(u *User) bool { return u.MayTouch([]byte("xchat:")) }},
		{"keys chat:7*", true, true, true, false, func(u *User) bool { return u.MayTouchAll("0", "chat:7") }},
		{"keys chat*", true, true, false, false, func(u *User) bool { return u.MayTouchAll("0", "chat") }},
		{"keys us/chat:7*", true, true, false, false, func(u *User) bool { return u.MayTouchAll("us", "chat:7") }},
		{"channel chat:1", true, true, true, false,
			func(u *User) bool { return u.MayHear([]string{"0", "1"}, []byte("chat:1")) }},
		{"channel of 0 and 1", true, true, false, false,
			func(u *User) bool { return u.MayHear([]string{"0", "1"}, []byte("x")) }},
		{"channel chat:1 of us", true, true, false, false,
			func(u *User) bool { return u.MayHear([]string{"us"}, []byte("chat:1")) }},
		{"channel memo", true, true, false, false,
			func(u *User) bool { return u.MayHear([]string{"0"}, []byte("memo")) }},
	} {
		for i, u := range []*User{anybody, all, some, nothing} {
			if got, want := c.ask(u), []bool{c.anybody, c.all, c.some, c.nothing_}[i]; got != want {
				t.Errorf("%s, user %d: %v", c.what, i, got)
			}
		}
	}
	key := []byte("memo-" + strings.Repeat("x", 100))
	if n := testing.AllocsPerRun(100, func() {
		if !some.MayTouch(key) || !some.MayEnter("eu") {
			t.Error("refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A list shows the user's keys only, each once and in order, however it is cut
// into pages; so do its cursors.
func TestList(t *testing.T) {
	keys := []string{"a", "a:1", "a:2", "b", "b:1", "b:2", "b:3", "c", "c:1"}
	ask := func(q turn.Sessions) (r turn.Result, err error) { // as the engine
		for _, k := range keys {
			switch {
			case !strings.HasPrefix(k, q.Prefix) || k <= q.Cursor:
			case len(r.Sessions) == q.Limit:
				r.Cursor = r.Sessions[q.Limit-1].Key.Name
				return r, nil
			default:
				r.Sessions = append(r.Sessions, turn.Session{Key: turn.Key{Name: k}})
			}
		}
		return r, nil
	}
	for _, c := range []struct {
		prefixes []string
		prefix   string
		want     string
	}{
		{nil, "", strings.Join(keys, " ")},
		{[]string{"a:", "c"}, "", "a:1 a:2 c c:1"},
		{[]string{"c", "a:", "c:", "a:"}, "", "a:1 a:2 c c:1"},
		{[]string{"a:", "x", "b:2", "c"}, "", "a:1 a:2 b:2 c c:1"},
		{[]string{"a:", "b:"}, "b", "b:1 b:2 b:3"},
		{[]string{"a", "b"}, "b:", "b:1 b:2 b:3"},
		{[]string{"x"}, "", ""},
		{[]string{"a:"}, "c", ""},
	} {
		for limit := 1; limit <= 10; limit++ {
			u := &User{Prefixes: c.prefixes}
			q := turn.Sessions{Prefix: c.prefix, Limit: limit}
			var got []string
			for pages := 0; ; pages++ {
				r, err := u.List(q, ask)
				if err != nil || len(r.Sessions) > limit || pages > len(keys)+5 {
					t.Fatalf("%d keys, %v", len(r.Sessions), err)
				}
				for _, s := range r.Sessions {
					got = append(got, s.Key.Name)
				}
				if q.Cursor = r.Cursor; q.Cursor == "" {
					break
				}
				if !u.MayTouch([]byte(q.Cursor)) {
					t.Errorf("%v: the cursor names %q", c.prefixes, q.Cursor)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v %q, limit %d: %q", c.prefixes, c.prefix, limit, got)
			}
		}
	}
}

func TestFileIsRefused(t *testing.T) {
	good := cheap("s")
	full := func(field string) string {
		return head + "  - name: a\n    passwords: ['" + good + "']\n    right: read\n    namespaces: ['*']\n    " +
			field + "\n"
	}
	for text, want := range map[string]string{
		"":                                             "empty",
		"users: []\n":                                  "version",
		"version: 2\n":                                 "line 1: the file has version 2",
		"version: 1\nuser: []\n":                       `line 2: unknown field "user"`,
		"version: 1\nusers: 5\n":                       "line 2: a list",
		"- a\n":                                        "line 1: a mapping",
		"version: 1\n\tx":                              "line 2",
		head + "  - name: 'a b'\n":                     "line 3: user name",
		head + "  - name: 'a:b'\n":                     "line 3: user name",
		head + "  - right: read\n":                     "line 3: a user without a name",
		head + "  - name: a\n":                         "user a has no password",
		full("prefixes: []"):                           "line 7: a list of prefixes without an element",
		full("prefixes: ['']"):                         "line 7",
		full("prefix: ['x']"):                          `line 7: unknown field "prefix"`,
		full("right: write"):                           "line 7: right occurs twice",
		full("channels: [null]"):                       "line 7: a text",
		full("") + user("a", "s", "x"):                 "line 10",
		head + user("a", "s", "right: root"):           `line 5: right "root"`,
		head + user("a", "s", "right: read"):           "user a has no namespaces",
		head + user("a", "s", "namespaces: ['*']"):     "user a has no right",
		head + "  - name: a\n    passwords: [plain]\n": "line 4: \"plain\"",
		head + "  - name: a\n    passwords: ['$argon2id$v=19$m=9999999,t=2,p=1$c2FsdHNhbHQ$" +
			base64.RawStdEncoding.EncodeToString(make([]byte, 32)) + "']\n": "line 4: the hash has m=",
		head + "  - name: a\n    passwords: ['$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$']\n": "line 4: " +
			"the hash has a salt",
		head + "  - name: a\n    passwords: ['$argon2id$v=16$m=8,t=1,p=1$c2FsdHNhbHQ$" +
			base64.RawStdEncoding.EncodeToString(make([]byte, 32)) + "']\n": "line 4: the hash has version 16",
		full("") + full("")[len(head):]: "line 8: user a occurs twice",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	if _, err := parse([]byte(full(""))); err != nil {
		t.Error(err)
	}
}

func TestReload(t *testing.T) {
	entry := func(passwords ...string) string {
		s := head + "  - name: ann\n    right: read\n    namespaces: ['*']\n    passwords:\n"
		for _, sec := range passwords {
			s += "      - " + cheap(sec) + "\n"
		}
		return s
	}
	u, path := open(t, entry("old"))
	login := func(password string) Login {
		l, err := u.Authenticate("ann", password, "test")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	reload := func(text string) error {
		write(t, path, text)
		return u.Reload()
	}
	old := login("old")
	if err := reload("version: 1\nusers: oops\n"); err == nil || u.Current().Find(old) == nil {
		t.Fatalf("after a bad file: %v", err)
	}
	if err := reload(entry("old", "new")); err != nil || u.Current().Find(old) == nil {
		t.Fatalf("a password was added: %v", err)
	}
	if u.Current().users["ann"].passwords[0].proven.Load() == nil {
		t.Error("the proof of a password that stays is forgotten")
	}
	fresh := login("new")
	if err := reload(entry("new")); err != nil || u.Current().Find(old) != nil || u.Current().Find(fresh) == nil {
		t.Fatalf("a password was taken away: %v", err)
	}
	if _, err := u.Authenticate("ann", "old", "test"); turn.KindOf(err) != turn.Unauthorized {
		t.Errorf("the old password: %v", err)
	}
	if err := reload("version: 1\nusers: []\n"); err != nil || u.Current().Find(fresh) != nil {
		t.Fatalf("the user was removed: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := u.Reload(); err == nil || !strings.Contains(err.Error(), "turnlog user add") {
		t.Errorf("no file: %v", err)
	}
}

// During a flood of wrong passwords the memory for hashing stays bounded, users who have
// authenticated before get in at once, and no request waits for ever.
func TestFlood(t *testing.T) {
	hash, err := HashPassword("s1", strings.NewReader(strings.Repeat("x", 16)))
	if err != nil {
		t.Fatal(err)
	}
	u, _ := open(t, head+"  - name: ann\n    right: read\n    namespaces: ['*']\n    passwords: ['"+hash+"']\n")
	if _, err := u.Authenticate("ann", "s1", "test"); err != nil {
		t.Fatal(err)
	}
	u.maxWait = 300 * time.Millisecond
	const strangers = 200
	var flood sync.WaitGroup
	var mu sync.Mutex
	kinds := make(map[turn.Kind]int)
	for i := range strangers {
		flood.Go(func() {
			_, err := u.Authenticate([]string{"ann", "unknown"}[i%2], fmt.Sprint("guess", i), "test")
			mu.Lock()
			kinds[turn.KindOf(err)]++
			mu.Unlock()
		})
	}
	slowest := time.Duration(0)
	for range 2000 {
		begun := time.Now()
		if _, err := u.Authenticate("ann", "s1", "test"); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(begun))
	}
	flood.Wait()
	if kinds[turn.Overloaded] == 0 || kinds[turn.Unauthorized] == 0 ||
		kinds[turn.Overloaded]+kinds[turn.Unauthorized] != strangers {
		t.Errorf("the flood got %v", kinds)
	}
	t.Logf("the flood got %v; who was known waited %v at most", kinds, slowest)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys > 600<<20 {
		t.Errorf("%d MiB of heap", m.HeapSys>>20)
	}
	if len(u.flights) != 0 {
		t.Errorf("%d proofs are left over", len(u.flights))
	}
}

// The same password shown many times at once is computed once.
func TestHerd(t *testing.T) {
	u, _ := open(t, head+user("ann", "s1", "right: read\n    namespaces: ['*']"))
	for range hashSlots() { // no slot is free yet
		u.queue.enter("elsewhere", "", false, time.Hour)
	}
	var herd sync.WaitGroup
	for range 100 {
		herd.Go(func() {
			if _, err := u.Authenticate("ann", "s1", "test"); err != nil {
				t.Error(err)
			}
		})
	}
	for {
		u.mu.Lock()
		n := len(u.flights)
		u.mu.Unlock()
		if n == 1 {
			break
		} else if n > 1 {
			t.Fatalf("%d proofs of one password", n)
		}
		runtime.Gosched()
	}
	for range hashSlots() {
		u.queue.leave()
	}
	herd.Wait()
}

func TestEdit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	edit := func(change func(*Draft) error) error {
		d, err := Edit(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := change(d); err != nil {
			return err
		}
		return d.Save()
	}
	add := func(u User, password string) error {
		return edit(func(d *Draft) error { return d.Add(u, cheap(password)) })
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(add(User{Name: "ann", Right: Write, Namespaces: []string{"0", "yes"}, Prefixes: []string{"a: #", "b"}}, "s1"))
	text, _ := os.ReadFile(path)
	write(t, path, "# who may connect\n"+string(text))
	must(add(User{Name: "12", Right: Read, Namespaces: []string{"*"}, Channels: []string{"c"}}, "s2"))
	for _, bad := range []User{{Name: "ann", Right: Read, Namespaces: []string{}},
		{Name: "b b", Right: Read, Namespaces: []string{}},
		{Name: "b", Right: Read, Namespaces: []string{}, Prefixes: []string{""}}} {
		if add(bad, "s") == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	must(edit(func(d *Draft) error { return d.AddPassword("ann", cheap("s3"), false) }))
	if edit(func(d *Draft) error { return d.AddPassword("carl", cheap("s3"), false) }) == nil ||
		edit(func(d *Draft) error { return d.Remove("carl") }) == nil {
		t.Error("a user who does not exist can be changed")
	}
	u, err := Open(path, "", slog.New(slog.DiscardHandler))
	must(err)
	for _, c := range [][2]string{{"ann", "s1"}, {"ann", "s3"}, {"12", "s2"}} {
		if _, err := u.Authenticate(c[0], c[1], "test"); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
	ann := u.Current().users["ann"]
	if fmt.Sprint(ann.Namespaces, ann.Prefixes, ann.Channels == nil, ann.Right) != "[0 yes] [a: # b] true write" {
		t.Errorf("%+v", ann)
	}
	must(edit(func(d *Draft) error { return d.AddPassword("ann", cheap("s4"), true) }))
	must(edit(func(d *Draft) error { return d.Remove("12") }))
	must(u.Reload())
	if _, err := u.Authenticate("ann", "s1", "test"); err == nil {
		t.Error("the old password still works")
	}
	info, err := os.Stat(path)
	must(err)
	text, _ = os.ReadFile(path)
	if info.Mode().Perm() != 0o600 || !strings.Contains(string(text), "# who may connect") ||
		strings.Contains(string(text), `"12"`) {
		t.Errorf("mode %v:\n%s", info.Mode(), text)
	}
	t.Logf("\n%s", text)

	// Two at a time: one of them is told.
	a, _ := Edit(path)
	b, _ := Edit(path)
	must(a.Remove("ann"))
	must(b.AddPassword("ann", cheap("s5"), true))
	must(a.Save())
	if err := b.Save(); !errors.Is(err, ErrBusy) {
		t.Errorf("the second change: %v", err)
	}
	write(t, path+".new", "")
	if err := add(User{Name: "x", Right: Read, Namespaces: []string{}}, "s"); !errors.Is(err, ErrBusy) {
		t.Errorf("beside another change: %v", err)
	}
}

// A wrong password costs the same hashes for every name: the time reveals neither
// whether a user exists nor which passwords the user has.
func TestWrongPasswordsCostTheSame(t *testing.T) {
	other := hashed{cost: cost{memory: 64, passes: 3, lanes: 2}, salt: make([]byte, 16), key: make([]byte, 32)}
	text := head + "  - name: two\n    right: read\n    namespaces: ['*']\n    passwords: ['" + cheap("a") + "', '" +
		cheap("b") + "']\n" +
		"  - name: dear\n    right: read\n    namespaces: ['*']\n    passwords: ['" + other.String() + "']\n" +
		user("one", "c", "right: read\n    namespaces: ['*']")
	u, _ := open(t, text)
	hashes := func(name string) (memory []int) {
		u.proves = func(h *hashed, _ string) bool { memory = append(memory, int(h.memory)); return false }
		if _, err := u.Authenticate(name, "wrong", "test"); turn.KindOf(err) != turn.Unauthorized {
			t.Fatal(err)
		}
		slices.Sort(memory)
		return memory
	}
	for _, name := range []string{"one", "two", "dear", "none"} {
		if got := hashes(name); !slices.Equal(got, []int{8, 8, 64}) {
			t.Errorf("%s: hashes with KiB %v", name, got)
		}
	}
}
