package preference

import (
	"testing"
	"time"
)

// chooser is a Chooser under the test's clock.
type chooser struct {
	*Chooser
	now time.Time
}

func newChooser() *chooser { return &chooser{New(10 * time.Second), time.Unix(1000, 0)} }

// after lets a time pass, in steps of a second, in which the voters stay as they are, and returns the last choice.
func (c *chooser) after(d time.Duration, own int, voters ...Voter) (id string) {
	for end := c.now.Add(d); c.now.Before(end); c.now = c.now.Add(time.Second) {
		id = c.Choose(c.now, own, voters)
	}
	return id
}

func TestChoice(t *testing.T) {
	able := func(id string, preference int) Voter { return Voter{id, preference, true} }
	for name, test := range map[string]struct {
		own    int
		voters []Voter
		want   string
	}{
		"one that is preferred":      {0, []Voter{able("a", 0), able("b", 1)}, "b"},
		"the most preferred":         {1, []Voter{able("a", 2), able("b", 3), able("c", 0)}, "b"},
		"the first of equal ones":    {0, []Voter{able("a", 2), able("b", 2)}, "a"},
		"none that is preferred":     {1, []Voter{able("a", 1), able("b", 0)}, ""},
		"no preference":              {0, []Voter{able("a", 0), able("b", 0)}, ""},
		"one that cannot lead":       {0, []Voter{{"a", 9, false}, able("b", 1)}, "b"},
		"only one that cannot lead":  {0, []Voter{{"a", 9, false}}, ""},
		"no other voter":             {0, nil, ""},
		"to be led by others rather": {-5, []Voter{able("a", 0)}, "a"},
	} {
		if got := newChooser().after(20*time.Second, test.own, test.voters...); got != test.want {
			t.Errorf("%s: %q is chosen, not %q", name, got, test.want)
		}
	}
}

// Only who could lead for long enough, without a break, is chosen.
func TestChoiceTakesTime(t *testing.T) {
	c, b := newChooser(), Voter{"b", 1, true}
	if got := c.after(10*time.Second, 0, b); got != "" {
		t.Errorf("%q is chosen at once", got)
	}
	c.after(time.Second, 0, Voter{"b", 1, false})
	if got := c.after(10*time.Second, 0, b); got != "" {
		t.Errorf("%q is chosen though it could not lead a moment ago", got)
	}
	if got := c.after(time.Second, 0, b); got != "b" {
		t.Errorf("%q is chosen, not b", got)
	}
	c.Reset()
	if got := c.after(10*time.Second, 0, b); got != "" {
		t.Errorf("%q is chosen by what the node knew when it led before", got)
	}
	c.after(time.Second, 0)
	if got := c.after(10*time.Second, 0, b); got != "" {
		t.Errorf("%q is chosen though it was no voter a moment ago", got)
	}
}

// Each change of the leader but for two doubles the time; there is a limit.
func TestLeadersThatComeAndGoAreChosenLater(t *testing.T) {
	c, b := newChooser(), Voter{"b", 1, true}
	for range 2 {
		c.Moved(c.now)
	}
	if got := c.after(11*time.Second, 0, b); got != "b" {
		t.Errorf("%q is chosen after a leader failed and came back, not b", got)
	}
	c.Reset()
	for range 3 {
		c.Moved(c.now)
	}
	if got := c.after(80*time.Second, 0, b); got != "" {
		t.Errorf("%q is chosen after five changes", got)
	}
	if got := c.after(time.Second, 0, b); got != "b" {
		t.Errorf("%q is chosen, not b", got)
	}
	for range 100 {
		c.Moved(c.now)
	}
	c.Reset()
	if got := c.after(MaxSettle, 0, b); got != "" {
		t.Errorf("%q is chosen after a hundred changes", got)
	}
	if got := c.after(time.Second, 0, b); got != "b" {
		t.Errorf("%q is chosen, not b: there is no end", got)
	}
}

// A voter to which transfers fail is left alone, longer each time; another one is not.
func TestFailedTransfersAreNotRepeatedSoon(t *testing.T) {
	c, b := newChooser(), Voter{"b", 2, true}
	c.Failed(c.now, "b")
	if got := c.after(30*time.Second, 0, b, Voter{"a", 1, true}); got != "a" {
		t.Errorf("%q is chosen, not a", got)
	}
	if got := c.after(time.Second, 0, b); got != "b" {
		t.Errorf("%q is chosen, not b", got)
	}
	c.Failed(c.now, "b")
	if got := c.after(60*time.Second, 0, b); got != "" {
		t.Errorf("%q is chosen after two failures", got)
	}
	if got := c.after(time.Second, 0, b); got != "b" {
		t.Errorf("%q is chosen, not b", got)
	}
}
