package datadir

import (
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A version number without a checksum may be damaged, too.
func TestNewerMayBeDamage(t *testing.T) {
	err := beyondRepair(turn.Errorf(turn.Newer, "the block file has version 9"))
	if !turn.Is(err, turn.Newer) || !strings.Contains(err.Error(), Reseed) {
		t.Error(err)
	}
}
