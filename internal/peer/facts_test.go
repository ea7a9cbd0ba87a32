package peer

import (
	"testing"
	"time"
)

// A version before levels tells none, and reads a greeting that tells one, or more.
func TestGreetingsOfVersionsBeforeLevels(t *testing.T) {
	facts := Facts{ClusterID: "c", NodeID: "n1", Incarnation: "i", Wall: time.UnixMilli(5), Progress: 7}
	old := fields{b: appendString(appendFacts(nil, facts), "reason", maxReason)}
	if got, text := old.greeting(maxReason); old.bad || got != facts || text != "reason" {
		t.Errorf("an old greeting is read as %+v, %q", got, text)
	}
	levelled := facts
	levelled.Level, levelled.LogIndex, levelled.LogTerm = 3, 4, 5
	levelled.CommittedIndex, levelled.CommittedTerm = 6, 7
	levelled.Recorded = true
	b := appendGreeting(nil, levelled, "reason", maxReason)
	for _, more := range []string{"", "of a later version"} {
		f := fields{b: append(b[:len(b):len(b)], more...)}
		if got, text := f.greeting(maxReason); f.bad || got != levelled || text != "reason" {
			t.Errorf("with %q behind it, it is read as %+v, %q", more, got, text)
		}
		f = fields{b: append(b[:len(b):len(b)], more...)}
		if got, text := f.facts(), f.string(maxReason); f.bad || got != facts || text != "reason" {
			t.Errorf("a version before levels reads it as %+v, %q", got, text)
		}
	}
}
