package auth

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/turn"
)

func TestHashIsRefused(t *testing.T) {
	text := func(n int) string { return base64.RawStdEncoding.EncodeToString(make([]byte, n)) }
	hash := func(parameters string, salt, key int) string {
		return "$argon2id$v=19$" + parameters + "$" + text(salt) + "$" + text(key)
	}
	for _, good := range []string{
		hash("m=8,t=1,p=1", 8, 16), hash("m=131072,t=16,p=16", 8, 64),
	} {
		h, err := parseHash(good)
		if err != nil || h.String() != good {
			t.Errorf("%s: %v, read as %s", good, err, &h)
		}
	}
	good := hash("m=8,t=1,p=1", 8, 16)
	for _, bad := range []string{
		"", "$argon2id$v=19$m=8,t=1,p=1$" + text(8), good + "$", "x" + good,
		strings.Replace(good, "2id", "2i", 1),
		strings.Replace(good, "v=19", "v=16", 1), strings.Replace(good, "m=8", "m=x", 1), good + "!",
		strings.Replace(good, text(8), "!", 1),
		hash("m=7,t=1,p=1", 8, 16), hash("m=131073,t=1,p=1", 8, 16),
		hash("m=8,t=0,p=1", 8, 16), hash("m=8,t=17,p=1", 8, 16),
		hash("m=8,t=1,p=0", 8, 16), hash("m=8,t=1,p=17", 8, 16),
		hash("m=8,t=1,p=1", 7, 16), hash("m=8,t=1,p=1", 8, 15), hash("m=8,t=1,p=1", 8, 65),
	} {
		if h, err := parseHash(bad); err == nil {
			t.Errorf("%s is read as %s", bad, &h)
		}
	}
}

func TestPasswordsAreLimited(t *testing.T) {
	for n, ok := range map[int]bool{0: false, 1: true, MaxPassword: true, MaxPassword + 1: false} {
		random := strings.NewReader(strings.Repeat("x", 16))
		if _, err := HashPassword(strings.Repeat("x", n), random); (err == nil) != ok {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if hash, err := HashPassword("x", iotest.ErrReader(os.ErrClosed)); err == nil {
		t.Errorf("without randomness: %s", hash)
	}
	if a, b := NewPassword(), NewPassword(); a == b || len(a) != 43 {
		t.Errorf("%s, %s", a, b)
	}
	list := "'" + strings.Repeat(cheap("s")+"', '", maxPasswords-1) + cheap("s") + "'"
	entry := func(passwords string) string {
		return head + "  - name: a\n    passwords: [" + passwords + "]\n    right: read\n    namespaces: []\n"
	}
	if _, err := parse([]byte(entry(list))); err != nil {
		t.Error(err)
	}
	_, err := parse([]byte(entry(list + ", '" + cheap("s") + "'")))
	if err == nil || !strings.Contains(err.Error(), "line 4: more than 4") {
		t.Errorf("five passwords: %v", err)
	}
}

// A name or a password that no user can have costs no hash.
func TestImpossiblePasswordsCostNothing(t *testing.T) {
	u, _ := open(t, head+user("ann", "s", "right: read\n    namespaces: []"))
	computed := 0
	u.proves = func(*hashed, string) bool { computed++; return false }
	long := strings.Repeat("x", MaxPassword+1)
	for _, c := range []struct {
		name, password string
		computed       int
	}{{"ann", "", 0}, {"ann", long, 0}, {"a b", "x", 0}, {"ann\x00", "x", 0}, {"ann", long[1:], 1}, {"bob", "x", 1}} {
		computed = 0
		_, err := u.Authenticate(c.name, c.password, "test")
		if turn.KindOf(err) != turn.Unauthorized || computed != c.computed {
			t.Errorf("%q, %d bytes: %d hashes, %v", c.name, len(c.password), computed, err)
		}
	}
}

// Of clients that show the same password at the same time, those of one user wait for one hash, and those of others for
// their own.
func TestProofsAreSharedByName(t *testing.T) {
	u, _ := open(t, head+user("ann", "s", "right: read\n    namespaces: []")+
		user("bob", "s", "right: admin\n    namespaces: ['*']"))
	synctest.Test(t, func(t *testing.T) {
		u.queue = newQueue(queueBounds{slots: 2, total: 9, ofHost: 9, ofPair: 9})
		computed, release := make(chan struct{}, 9), make(chan struct{})
		u.proves = func(h *hashed, password string) bool {
			computed <- struct{}{}
			<-release
			return password == "s"
		}
		logins := make(chan Login, 3)
		for _, name := range []string{"ann", "ann", "bob"} {
			go func() {
				l, err := u.Authenticate(name, "s", "test")
				if err != nil || l.Name != name || u.Current().Find(l).Name != name {
					t.Errorf("%s is let in as %q: %v", name, l.Name, err)
				}
				logins <- l
			}()
			synctest.Wait()
		}
		if len(computed) != 2 {
			t.Errorf("%d passwords are computed for two users", len(computed))
		}
		close(release)
		for range 3 {
			<-logins
		}
	})
}

// Each of a user's passwords is compared with those that were seen, and a guess costs a hash where there are no users.
func TestSetCounts(t *testing.T) {
	passwords := func(n int) []*password {
		var list []*password
		for i := range n {
			cheapest := cost{memory: 8, passes: 1, lanes: 1}
			list = append(list, &password{text: fmt.Sprint(i), hashed: hashed{cost: cheapest}})
		}
		return list
	}
	for range 10 { // in some order of the names
		users := map[string]*User{"a": {passwords: passwords(1)}, "b": {passwords: passwords(3)},
			"c": {passwords: passwords(2)}}
		s := newSet(users)
		if s.most != 3 || len(s.costs) != 1 || s.costs[cost{memory: 8, passes: 1, lanes: 1}] != 3 {
			t.Fatalf("most %d, costs %v", s.most, s.costs)
		}
	}
	if s := newSet(nil); s.most != 1 || len(s.costs) != 1 || s.costs[ours()] != 1 {
		t.Errorf("without users: most %d, costs %v", s.most, s.costs)
	}
}

// Reading the file again forgets no proof, however many users come with it.
func TestReloadKeepsEveryProof(t *testing.T) {
	file := func(from int) string {
		text := head
		for i := from; i < 30; i++ {
			text += user(fmt.Sprint("u", i), "s", "right: read\n    namespaces: []")
		}
		return text
	}
	u, path := open(t, file(15))
	for i := 15; i < 30; i++ {
		if _, err := u.Authenticate(fmt.Sprint("u", i), "s", "test"); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path, file(0))
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	for i := 15; i < 30; i++ {
		if u.Current().users[fmt.Sprint("u", i)].passwords[0].proven.Load() == nil {
			t.Errorf("the proof of user %d is forgotten", i)
		}
	}
}

// A waiter that gives up removes itself only, and addresses without a port are different addresses.
func TestQueueForgetsTheRightWaiter(t *testing.T) {
	for _, likely := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(queueBounds{slots: 1, likely: 9, total: 9, ofHost: 2, ofPair: 2})
			q.enter("a", "x", false, time.Second)
			in := make(chan string, 9)
			wait := func(from string, long time.Duration) {
				go func() { in <- fmt.Sprint(from, " ", q.enter(from, "x", likely, long)) }()
				synctest.Wait()
			}
			comes := func(want string) {
				synctest.Wait()
				select {
				case got := <-in:
					if want == "" || !strings.HasSuffix(got, want) {
						t.Errorf("%s comes in place of %q", got, want)
					}
				default:
					if want != "" {
						t.Errorf("%q does not come", want)
					}
				}
			}
			wait("a", time.Hour)
			wait("a", time.Second)
			time.Sleep(time.Second)
			comes("a false")
			q.leave()
			comes("a true")
			wait("a", time.Hour)
			wait("a", time.Hour)
			wait("b", time.Hour)
			comes("") // b does not count as a
			for range 3 {
				q.leave()
				comes(" true")
			}
		})
	}
}

// A waiter that gets its slot while it gives up either has it or leaves it to others.
func TestQueueLosesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(queueBounds{slots: 1, total: 9, ofHost: 9, ofPair: 9})
		for range 200 {
			q.enter("a", "x", false, 0)
			go func() {
				time.Sleep(time.Second)
				q.leave()
			}()
			if q.enter("b", "x", false, time.Second) {
				q.leave()
			}
			synctest.Wait()
			if q.free != 1 {
				t.Fatalf("%d slots are free", q.free)
			}
		}
	})
}

// A file of what was seen that is damaged, or of another version, is replaced by an empty one.
func TestSeenFileIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen-users")
	key := strings.Repeat("ab", 32)
	good := `{"version":1,"key":"` + key + `","seen":{"00":1}}`
	for text, kept := range map[string]bool{
		good:                                   true,
		strings.Replace(good, `:1,`, `:2,`, 1): false,
		strings.Replace(good, "ab", "", 1):     false,
		strings.Replace(good, `{"00":1}`, `null`, 1):              false,
		strings.Replace(good, `{"00":1}`, `{"00":1,"01":256}`, 1): false,
		good[1:]: false,
		"":       false,
	} {
		write(t, path, text)
		s := openSeen(path)
		s.note(&password{text: "x"}, "ann", "s") // needs a map
		if (s.state.Key == key) != kept || (s.state.Seen["00"] == 1) != kept {
			t.Errorf("%s: the key is %s, seen %v", text, s.state.Key, s.state.Seen)
		}
	}
}

// A guess for a user whose password was never seen goes first if it would for a name that no user has.
func TestUnseenPasswordsLookLikeNone(t *testing.T) {
	s := openSeen("")
	s.state.Key = strings.Repeat("ab", 32)
	unseen := []*password{{text: "unseen"}}
	for i := range 4096 {
		guess := fmt.Sprint("guess", i)
		if s.resembles(unseen, 1, "ann", guess) != s.resembles(nil, 1, "ann", guess) {
			t.Fatalf("%s tells that the user exists", guess)
		}
	}
}

// The log tells of refusals, with 64 bytes of the name at most, and of a users file that others can read.
func TestRefusalsAreLogged(t *testing.T) {
	var text bytes.Buffer
	path := filepath.Join(t.TempDir(), "users.yaml")
	write(t, path, head+user("ann", "s", "right: read\n    namespaces: []"))
	u, err := Open(path, "", slog.New(slog.NewTextHandler(&text, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "chmod") {
		t.Errorf("a private file: %s", &text)
	}
	if _, err := u.Authenticate("ann", "s", "test"); err != nil || strings.Contains(text.String(), "rejected") {
		t.Errorf("%v\n%s", err, &text)
	}
	if _, err := u.Authenticate(strings.Repeat("n", 70), "s", "1.2.3.4:5"); err == nil {
		t.Error("let in")
	}
	want := `msg="authentication rejected" user=` + strings.Repeat("n", 64) + " from=1.2.3.4:5"
	if !strings.Contains(text.String(), want) {
		t.Errorf("the log has no %s:\n%s", want, &text)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	err = u.Reload()
	if err != nil || !strings.Contains(text.String(), "chmod 600") || !strings.Contains(text.String(), "reloaded") {
		t.Errorf("%v\n%s", err, &text)
	}
	write(t, path, "")
	if err := u.Reload(); err == nil || !strings.Contains(text.String(), "the users remain as they were") {
		t.Errorf("%v\n%s", err, &text)
	}
}
