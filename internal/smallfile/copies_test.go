package smallfile

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// number is a file that holds a number; a higher one supersedes a lower one.
type number int

func decode(path string, b []byte) (*number, error) {
	var n number
	if _, err := fmt.Sscanf(string(b), "number %d.", &n); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	return &n, nil
}

func read(path string) (Copies[number], error) {
	return ReadCopies(path, "do this", decode, func(second, first *number) bool { return *second > *first })
}

// What is left of two copies is the newer one that is whole; both are whole again after Mend.
func TestCopies(t *testing.T) {
	for name, test := range map[string]struct {
		first, second string // empty: missing
		want          number // 0: none
		fails         bool
	}{
		"none":           {},
		"both":           {"number 3.", "number 3.", 3, false},
		"crash":          {"number 3.", "number 4.", 4, false},
		"older version":  {"number 4.", "number 3.", 4, false},
		"first damaged":  {"nember 4.", "number 3.", 3, false},
		"second damaged": {"number 4.", "", 4, false},
		"both damaged":   {"nember 4.", "number", 0, true},
		"one, damaged":   {"nember 4.", "", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file.json")
			for p, text := range map[string]string{path: test.first, SecondCopy(path): test.second} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, err := read(path)
			if (err != nil) != test.fails || test.fails &&
				(!errors.Is(err, ErrDamaged) || !strings.HasSuffix(err.Error(), "; do this")) {
				t.Fatalf("it reads with %v", err)
			}
			if c.Best == nil {
				if test.want != 0 {
					t.Fatal("there is none")
				}
				return
			}
			if *c.Best != test.want {
				t.Fatalf("it is %d, want %d", *c.Best, test.want)
			}
			c.Mend(path, func() error { return WriteCopies(path, fmt.Appendf(nil, "number %d.", *c.Best)) },
				slog.New(slog.DiscardHandler))
			if c, err = read(path); err != nil || c.Differ || *c.Best != test.want {
				t.Errorf("after it was mended: %+v, %v", c, err)
			}
		})
	}
}
