package badstores

import (
	"context"
	"errors"
	"path"
	"strings"
	"unicode"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// keyDefects are what happens to session keys.
var keyDefects = []Bad{
	{Name: "folds-keys", Caught: "isolation/similar-keys",
		Defect: "session keys are compared without case and white space", build: eachHandle(keysBy(fold))},
	{Name: "pattern-clear", Caught: "isolation/clear-one",
		Defect: "clear takes the key as a pattern", build: eachHandle(patternClear)},
	{Name: "cuts-keys-300", Caught: "isolation/long-keys",
		Defect: "session keys are cut at 300 bytes", build: eachHandle(keysBy(cutAt300))},
	{Name: "cuts-keys-nul", Caught: "isolation/key-ends",
		Defect: "session keys end at the first NUL", build: eachHandle(keysBy(cutAtNUL))},
	{Name: "chomps-keys", Caught: "isolation/key-ends",
		Defect: "line ends at the end of a session key are dropped", build: eachHandle(keysBy(chomp))},
	{Name: "cleans-paths", Caught: "isolation/key-paths",
		Defect: "session keys are cleaned as paths", build: eachHandle(keysBy(cleanPath))},
	{Name: "folds-beyond-ascii", Caught: "isolation/key-case",
		Defect: "letters beyond ASCII are compared without case", build: eachHandle(keysBy(foldBeyondASCII))},
}

// renamed takes some keys for others.
type renamed struct {
	*memory.Handle
	name func(key string) string
}

// keysBy returns stores that know a session by what name makes of its key.
func keysBy(name func(string) string) wrapper {
	return func(h *memory.Handle) contract.Store { return renamed{h, name} }
}

func (s renamed) Add(ctx context.Context, session string, turn ...contract.Message) error {
	return s.Handle.Add(ctx, s.name(session), turn...)
}

func (s renamed) Load(ctx context.Context, session string) ([]contract.Message, error) {
	return s.Handle.Load(ctx, s.name(session))
}

func (s renamed) Clear(ctx context.Context, session string) error {
	return s.Handle.Clear(ctx, s.name(session))
}

func fold(key string) string { return strings.ToLower(strings.TrimSpace(key)) }

// foldBeyondASCII is how a collation compares that was made for another alphabet.
func foldBeyondASCII(key string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return unicode.ToLower(r)
		}
		return r
	}, key)
}

func cutAt300(key string) string { return key[:min(len(key), 300)] }

func cutAtNUL(key string) string {
	key, _, _ = strings.Cut(key, "\x00")
	return key
}

func chomp(key string) string { return strings.TrimRight(key, "\r\n") }

func cleanPath(key string) string {
	if strings.Contains(key, "/../") || strings.Contains(key, "/./") {
		return path.Clean(key)
	}
	return key
}

// globbing clears by pattern.
type globbing struct{ *memory.Handle }

func patternClear(h *memory.Handle) contract.Store { return globbing{h} }

func (s globbing) Clear(ctx context.Context, session string) error {
	keys, err := s.Sessions(ctx, "")
	for _, key := range keys {
		if match, _ := path.Match(session, key); match || key == session {
			err = errors.Join(err, s.Handle.Clear(ctx, key))
		}
	}
	return err
}
