package history

import (
	"fmt"
	"strings"
)

// RightsStage is how far a change of a user's rights has come.
type RightsStage string

const (
	RightsGoing  RightsStage = "going"  // some nodes may know that they are lost
	RightsGone   RightsStage = "gone"   // every node that runs does
	RightsComing RightsStage = "coming" // some nodes may have them again
	RightsBack   RightsStage = "back"   // every node that runs has
)

// RightsLoss is a time in which a user has less rights than before. A stage that was not
// reached is Forever.
type RightsLoss struct {
	User                      string
	Reads                     bool // the right to read is lost, too
	Going, Gone, Coming, Back int64
}

const rightsNote = "rights of "

// RightsNote is the text of a Note that a change of rights has come to a stage.
func RightsNote(user string, reads bool, stage RightsStage) string {
	what := "writes"
	if reads {
		what = "reads and writes"
	}
	return fmt.Sprintf("%s%s: %s %s", rightsNote, user, what, stage)
}

// RightsLosses returns what the notes of the history tell of rights.
func (h *History) RightsLosses() (all []RightsLoss) {
	for _, m := range h.Marks {
		rest, ok := strings.CutPrefix(m.Text, rightsNote)
		user, what, found := strings.Cut(rest, ": ")
		if m.Type != Note || !ok || !found {
			continue
		}
		stage := RightsStage(what[strings.LastIndexByte(what, ' ')+1:])
		if stage == RightsGoing {
			all = append(all, RightsLoss{User: user, Reads: strings.HasPrefix(what, "reads"),
				Going: m.Time, Gone: Forever, Coming: Forever, Back: Forever})
			continue
		}
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].User == user {
				all[i].advance(stage, m.Time)
				break
			}
		}
	}
	return all
}

func (l *RightsLoss) advance(stage RightsStage, time int64) {
	switch stage {
	case RightsGone:
		l.Gone = time
	case RightsComing:
		l.Coming = time
	case RightsBack:
		l.Back = time
	}
}
