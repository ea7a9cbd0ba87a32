package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Size is a number of bytes that is written as 1048576, 1MiB, 64KiB or 2GiB.
// KB, MB and GB mean the same powers of two.
type Size int64

var units = []struct {
	suffix string
	bytes  int64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1},
}

// String returns s in the largest unit that divides it.
func (s *Size) String() string {
	for _, u := range units[:3] {
		if n := int64(*s); n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Set parses text into s.
func (s *Size) Set(text string) error {
	number, unit := strings.TrimSpace(text), int64(1)
	for _, u := range units {
		if n := len(number) - len(u.suffix); n >= 0 && strings.EqualFold(number[n:], u.suffix) {
			number, unit = strings.TrimSpace(number[:n]), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return fmt.Errorf("%q is not a size such as 8388608, 512KiB, 64MiB or 2GiB", text)
	}
	*s = Size(n * unit)
	return nil
}

// Type names the kind of value in help texts.
func (s *Size) Type() string { return "size" }
