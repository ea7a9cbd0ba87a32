package rollback

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"maps"
	"sync"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/smallfile"
)

// Observations is what this node last saw of the others: how far their logs were durable,
// and what terms they have been in. A node that comes back with less has lost data,
// be it that an older copy of its directory was put back. It cannot know; the others
// tell it (see Detector).
//
// The leader sees each acknowledgement, and all nodes hear of each other every second.
// The file follows within saveEvery: it is there for the case that the node that
// saw it was restarted, too. All methods may be called by any goroutine.
type Observations struct {
	path string

	mu      sync.Mutex
	byID    map[string]Observation
	starts  map[string]Start // by node: the start that told last what it has; not in the file
	changes uint64           // of the starts that told last
	doubts  map[string]bool  // nodes that say that they are in doubt; not in the file
	changed bool             // since the file was written
}

// Start is a start of a node. Its number is random, so that of two starts it does not tell which
// is the later one. A question that was delayed may come from the earlier one. So what counts is
// that another start has told something in between, whichever it was.
type Start struct {
	Number uint64 // 0 from an older turnlog
	since  uint64 // how many changes there were when it was met
}

// Observation is what was seen of one node.
type Observation struct {
	Incarnation string `json:"incarnation"`
	Index       uint64 `json:"index"` // of its log's high-water mark
	Term        uint64 `json:"term"`
	Promised    uint64 `json:"promised"` // the highest term that it was in
}

// Position returns how far the log of the node was durable.
func (o Observation) Position() raftlog.Position {
	return raftlog.Position{Index: o.Index, Term: o.Term}
}

// with returns what is known after both observations of one directory.
func (o Observation) with(later Observation) Observation {
	if o.Incarnation != later.Incarnation {
		return later
	}
	if o.Position().Before(later.Position()) {
		o.Index, o.Term = later.Index, later.Term
	}
	o.Promised = max(o.Promised, later.Promised)
	return o
}

type observationsFile struct {
	Version int                    `json:"version"`
	Nodes   map[string]Observation `json:"nodes"`
	Check   uint32                 `json:"crc32c"` // of this file with crc32c 0
}

const (
	// FileName is the file of a data directory that keeps its Observations.
	FileName    = "peers.json"
	fileVersion = 1
)

// Open reads the file, if there is one. One that is damaged or newer is passed
// over: it is of use to the others only.
func Open(path string, log *slog.Logger) (*Observations, error) {
	s := &Observations{path: path, byID: make(map[string]Observation), starts: make(map[string]Start),
		doubts: make(map[string]bool)}
	b, err := descriptors.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	var f observationsFile
	err = json.Unmarshal(b, &f)
	if sum, ok := smallfile.JSONSum(b, `,"crc32c":0}`); err == nil && (!ok || sum != f.Check) {
		err = errors.New("it fails its checksum")
	}
	if err == nil && f.Version != fileVersion {
		err = fmt.Errorf("it has version %d, this turnlog reads version %d", f.Version, fileVersion)
	}
	if err != nil {
		log.Warn("the record of what was seen of other nodes is unreadable; starting a new one", "file", path,
			"reason", err)
		return s, nil
	}
	if f.Nodes != nil {
		s.byID = f.Nodes
	}
	return s, nil
}

// Met notes what a node says of itself, and returns what was seen of it before. number is
// that of its start, 0 from an older turnlog.
func (s *Observations) Met(id string, now Observation, number uint64) (before Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.byID[id]
	if s.starts[id].Number != number {
		s.changes++
		s.starts[id] = Start{number, s.changes}
	}
	s.noteLocked(id, before.with(now))
	if before.Incarnation != now.Incarnation {
		return Observation{}
	}
	return before
}

// Greeted notes which directory a node has that this one reached: what it acknowledges and votes
// may come before its first question.
func (s *Observations) Greeted(id, incarnation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id].Incarnation != incarnation {
		s.noteLocked(id, Observation{Incarnation: incarnation})
	}
}

// Of returns what was seen of a node with that directory.
func (s *Observations) Of(id, incarnation string) Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen := s.byID[id]; seen.Incarnation == incarnation {
		return seen
	}
	return Observation{}
}

// Last returns what was seen of a node, whatever its directory.
func (s *Observations) Last(id string) Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// Start returns the start that told last what it has.
func (s *Observations) Start(id string) Start {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts[id]
}

// noteDoubt notes whether a node says that it is in doubt, see raftlog.Loss.
func (s *Observations) noteDoubt(id string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is {
		s.doubts[id] = true
	} else {
		delete(s.doubts, id)
	}
}

// InDoubt reports whether a node last said that it is in doubt.
func (s *Observations) InDoubt(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubts[id]
}

// Acked notes that a node's log is durable up to p, for which it was in that term. by is what Start
// returned before the entries were sent. It reports false, and notes nothing, if another
// start of the node was met since: that one was told what was seen of it without this
// acknowledgement, and may not have the entries. So they must not be counted as its own.
func (s *Observations) Acked(id string, by Start, p raftlog.Position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starts[id] != by {
		return false
	}
	s.addLocked(id, func(now *Observation) { now.Index, now.Term, now.Promised = p.Index, p.Term, p.Term })
	return true
}

// Voted notes that a node was in a term.
func (s *Observations) Voted(id string, term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(id, func(now *Observation) { now.Promised = term })
}

// addLocked adds to what was seen of a node whose directory is known.
func (s *Observations) addLocked(id string, what func(*Observation)) {
	before, known := s.byID[id]
	if !known {
		return
	}
	now := Observation{Incarnation: before.Incarnation}
	what(&now)
	s.noteLocked(id, before.with(now))
}

func (s *Observations) noteLocked(id string, now Observation) {
	if s.byID[id] != now {
		s.byID[id] = now
		s.changed = true
	}
}

// Keep forgets all nodes but those that are given: there are never more observations than
// members.
func (s *Observations) Keep(ids []string) {
	members := make(map[string]bool)
	for _, id := range ids {
		members[id] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byID, func(id string, _ Observation) bool { return !members[id] })
	maps.DeleteFunc(s.doubts, func(id string, _ bool) bool { return !members[id] })
	maps.DeleteFunc(s.starts, func(id string, _ Start) bool { return !members[id] })
}

// Save writes the file if anything has changed, and tries again the next time if that fails.
func (s *Observations) Save() error {
	s.mu.Lock()
	nodes, changed := maps.Clone(s.byID), s.changed
	s.changed = false
	s.mu.Unlock()
	if !changed {
		return nil
	}
	err := s.write(nodes)
	if err != nil {
		s.mu.Lock()
		s.changed = true
		s.mu.Unlock()
	}
	return err
}

func (s *Observations) write(nodes map[string]Observation) error {
	f := observationsFile{Version: fileVersion, Nodes: nodes}
	b, err := json.Marshal(&f)
	if err != nil {
		return err
	}
	f.Check = crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	if b, err = json.Marshal(&f); err != nil {
		return err
	}
	return smallfile.Replace(s.path, append(b, '\n'))
}
