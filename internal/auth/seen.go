package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"strconv"
	"sync"
)

// seen keeps, in a file, eight bits of a keyed digest of each password that was verified.
// After a restart they tell which of many unknown passwords to hash first, so that users
// get in during a flood; one in 256 of the flood's passwords passes, too. More bits would
// exclude more of them, but would also let a thief of both this file and the users file
// try that many more guesses in the same time.
//
// The file is JSON: {"version":1,"key":HEX,"seen":{HEX:0..255}}, the names of seen
// being the first 16 bytes of the SHA-256 of a password's hash as the users file has it.
type seen struct {
	path    string        // empty: nothing outlives the process
	changed chan struct{} // cap 1

	mu    sync.Mutex
	state seenFile
}

type seenFile struct {
	Version int              `json:"version"`
	Key     string           `json:"key"`
	Seen    map[string]uint8 `json:"seen"`
}

const seenVersion = 1

// openSeen reads the file. If the file cannot be read, it starts with an empty one: the
// file only speeds up verification, so nothing is lost.
func openSeen(path string) *seen {
	s := &seen{path: path, changed: make(chan struct{}, 1)}
	text, err := os.ReadFile(path)
	if path == "" || err != nil || json.Unmarshal(text, &s.state) != nil ||
		s.state.Version != seenVersion || len(s.state.Key) != 64 || s.state.Seen == nil {
		s.state = seenFile{Version: seenVersion, Key: hex.EncodeToString(randomKey()), Seen: make(map[string]uint8)}
	}
	return s
}

func randomKey() []byte {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return key
}

// resembles reports whether the password shown for a name may be one of the passwords, of
// which a name has at most most. In place of a password that does not exist, or was not
// seen yet, it compares with bits that depend on the key: guesses for any name go first
// equally often, so their time does not reveal whether the user exists.
func (s *seen) resembles(passwords []*password, most int, name, shown string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	bits := s.bitsLocked(name, "\x00", shown)
	found := false
	for i := range most {
		expected := s.bitsLocked("\x00", name, "\x00", strconv.Itoa(i))
		if i < len(passwords) {
			if known, ok := s.state.Seen[seenName(passwords[i])]; ok {
				expected = known
			}
		}
		found = found || bits == expected
	}
	return found
}

// note records that shown was verified as the password.
func (s *seen) note(sec *password, name, shown string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Seen[seenName(sec)] = s.bitsLocked(name, "\x00", shown)
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// keep forgets passwords that no user has any more.
func (s *seen) keep(users map[string]*User) {
	names := make(map[string]bool)
	for _, u := range users {
		for _, sec := range u.passwords {
			names[seenName(sec)] = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.state.Seen, func(name string, _ uint8) bool { return !names[name] })
}

// bitsLocked is the digest of some text. No name has a zero byte: it ends one.
func (s *seen) bitsLocked(text ...string) uint8 {
	m := hmac.New(sha256.New, []byte(s.state.Key))
	for _, t := range text {
		m.Write([]byte(t))
	}
	return m.Sum(nil)[0]
}

func seenName(sec *password) string {
	sum := sha256.Sum256([]byte(sec.text))
	return hex.EncodeToString(sum[:16])
}

// save writes the file, for its owner only.
func (s *seen) save() error {
	s.mu.Lock()
	text, err := json.Marshal(&s.state)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	temp := s.path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, s.path)
}

// Run writes what was learned of proven passwords to the file until ctx ends.
func (u *Users) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.seen.changed:
		}
		if u.seen.path == "" {
			continue
		}
		if err := u.seen.save(); err != nil {
			u.log.Warn("cannot save which users have authenticated: after a restart, a flood of wrong passwords "+
				"delays them", "error", err)
		}
	}
}
