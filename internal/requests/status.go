package requests

import (
	"context"
	"encoding/json"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/turn"
)

// RoleRecovering is that of a voter whose log has lost entries: it stands for no election.
const RoleRecovering = "recovering"

// Status is a node's own view of itself.
type Status struct {
	ID          string `json:"id"`
	Incarnation string `json:"incarnation"`
	RESPAddr    string `json:"resp_addr,omitempty"`
	HTTPAddr    string `json:"http_addr,omitempty"`
	Role        string `json:"role"`
	Term        uint64 `json:"term"`
	Applied     uint64 `json:"applied"`
	Last        uint64 `json:"last"`
	Hash        string `json:"hash,omitempty"`
	HashIndex   uint64 `json:"hash_index,omitempty"`
	NoSpace     bool   `json:"no_space,omitempty"` // less than the reserve is left on its disk
	Space       string `json:"space,omitempty"`    // if so, how much
	NoLog       bool   `json:"no_log,omitempty"`   // its log has room for a few more entries only
	Damaged     bool   `json:"damaged,omitempty"`  // its state, and not repaired yet
	Halted      bool   `json:"halted,omitempty"`   // for damage: it serves nothing
	Missing     bool   `json:"missing,omitempty"`  // its log has lost entries; an older voter tells by RoleRecovering
	Wall        int64  `json:"wall,omitempty"`     // what the wall clock shows, Unix milliseconds
	Time        int64  `json:"time,omitempty"`     // cluster time of the state, Unix milliseconds
	Free        uint64 `json:"free,omitempty"`     // bytes of its disk
	Version     string `json:"version,omitempty"`  // of its program
	Zone        string `json:"zone,omitempty"`
	Preference  int    `json:"leader_preference,omitempty"`
	Appends     uint64 `json:"appends,omitempty"`   // to its log since it started
	AppendNanos int64  `json:"append_ns,omitempty"` // that they took together, with their syncs
	// The highest level that the node's version knows (older ones announce none), and
	// that at which it holds the cluster; nil: it does not.
	KnownLevel turn.ClusterLevel  `json:"known_level,omitempty"`
	HoldLevel  *turn.ClusterLevel `json:"hold_level,omitempty"`
	// Level is the cluster's, if the node leads and has applied all that came before its term.
	Level *turn.ClusterLevel `json:"level,omitempty"`
	// Members are the ids recorded in the state, as of Applied or later.
	Members []string `json:"members"`
}

// LeaderNotice goes with a leader's request for a status.
type LeaderNotice struct {
	Rejects string `json:"rejects,omitempty"` // why operations that need space are rejected; empty: they are not
}

// StatusTime bounds the wait for another node's status.
const StatusTime = 500 * time.Millisecond

// Status asks another node for its view of itself.
func (c Client) Status(ctx context.Context, id string) (Status, error) { return c.status(ctx, id, nil) }

// StatusAs is Status for a leader, which tells a node something with it.
func (c Client) StatusAs(ctx context.Context, id string, notice LeaderNotice) (Status, error) {
	b, err := json.Marshal(notice)
	if err != nil {
		return Status{}, err
	}
	return c.status(ctx, id, b)
}

func (c Client) status(ctx context.Context, id string, notice []byte) (s Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, StatusTime)
	defer cancel()
	content, f, err := c.call(ctx, id, kindStatus, notice)
	if f != nil {
		return s, f.Err
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(content, &s)
}

// answerStatus tells how this node is. A leader that asks says what it rejects.
func (s *Server) answerStatus(r peer.Request) ([]byte, error) {
	var notice LeaderNotice
	if len(r.Payload) > 0 && json.Unmarshal(r.Payload, &notice) == nil {
		s.Notice(r.From.NodeID, notice)
	}
	b, err := json.Marshal(s.Status())
	return append([]byte{answerOK}, b...), err
}

// Problems says what keeps a node from being well.
func (s *Status) Problems() (list []string) {
	if s.NoSpace {
		list = append(list, "its disk is full: "+s.Space)
	}
	if s.NoLog {
		list = append(list, "its log has room for a few more entries only")
	}
	switch {
	case s.Halted:
		list = append(list, "its state is damaged; it serves nothing until another node has sent it")
	case s.Damaged:
		list = append(list, "its state is damaged, and is being repaired")
	}
	if s.Lacks() {
		list = append(list, "its log has lost entries, and no leader has sent them again yet")
	}
	return list
}

// AllowedLevel is the highest level that the node lets the cluster go to.
func (s *Status) AllowedLevel() turn.ClusterLevel {
	if s.HoldLevel != nil {
		return min(s.KnownLevel, *s.HoldLevel)
	}
	return s.KnownLevel
}

// Lacks reports whether the node's log has lost entries that no leader has sent again yet.
func (s Status) Lacks() bool { return s.Missing || s.Role == RoleRecovering }

// Commits reports whether a voter takes entries and has all that it acknowledged.
func (s Status) Commits() bool {
	if s.Lacks() {
		return false
	}
	switch s.Role {
	case "leader", "follower", "candidate", "learner": // a voter that was a learner may not know yet
		return true
	}
	return false
}

// LeadsBetter reports whether a voter is a better transfer target than another one.
func (s Status) LeadsBetter(than Status) bool {
	switch {
	case s.Harm() != than.Harm():
		return s.Harm() < than.Harm()
	case s.NoSpace != than.NoSpace:
		return than.NoSpace
	case s.Preference != than.Preference && max(s.Last, than.Last)-min(s.Last, than.Last) <= nearlyAll:
		return s.Preference > than.Preference
	}
	return s.Last > than.Last
}

// nearlyAll is how many entries a transfer target may lack that is preferred: it gets them before it leads.
const nearlyAll = 1000

// Harm is what damage to a node's state keeps it from.
type Harm uint8

const (
	Unharmed    Harm = iota
	SomeUnread       // reading what is in damaged blocks
	AllUnserved      // everything
)

// Harm returns what damage keeps the node from.
func (s Status) Harm() Harm {
	switch {
	case s.Halted:
		return AllUnserved
	case s.Damaged:
		return SomeUnread
	}
	return Unharmed
}
