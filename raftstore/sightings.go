package raftstore

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

// sightings is what this node last saw of the others: how far their logs were durable,
// and what terms they have been in. A node that comes back with less has lost data,
// be it that an older copy of its directory was put back. It cannot know; the others
// tell it (see exchange).
//
// The leader sees each acknowledgement, and all nodes hear of each other every second.
// The file follows within saveSightings: it is there for the case that the node that
// saw it was restarted, too.
type sightings struct {
	path string

	mu      sync.Mutex
	byID    map[string]sighting
	boots   map[string]boot // by node: the start that told last what it has; not in the file
	changes uint64          // of the starts that told last
	doubts  map[string]bool // nodes that say that they are in doubt; not in the file
	changed bool            // since the file was written
}

// boot is a start of a node. Its number is random, so that of two starts it does not tell which
// is the later one. A question that was delayed may come from the earlier one. So what counts is
// that another start has told something in between, whichever it was.
type boot struct {
	number uint64 // 0 from an older turnlog
	since  uint64 // how many changes there were when it was met
}

// sighting is what was seen of one node.
type sighting struct {
	Incarnation string `json:"incarnation"`
	Index       uint64 `json:"index"` // of its log's high-water mark
	Term        uint64 `json:"term"`
	Promised    uint64 `json:"promised"` // the highest term that it was in
}

func (s sighting) position() raftlog.Position { return raftlog.Position{Index: s.Index, Term: s.Term} }

// with returns what is known after both sightings of one directory.
func (s sighting) with(o sighting) sighting {
	if s.Incarnation != o.Incarnation {
		return o
	}
	if s.position().Before(o.position()) {
		s.Index, s.Term = o.Index, o.Term
	}
	s.Promised = max(s.Promised, o.Promised)
	return s
}

type sightingsFile struct {
	Version int                 `json:"version"`
	Nodes   map[string]sighting `json:"nodes"`
	Check   uint32              `json:"crc32c"` // of this file with crc32c 0
}

const (
	sightingsName    = "peers.json"
	sightingsVersion = 1
)

// openSightings reads the file, if there is one. One that is damaged or newer is passed
// over: it is of use to the others only.
func openSightings(path string, log *slog.Logger) (*sightings, error) {
	s := &sightings{path: path, byID: make(map[string]sighting), boots: make(map[string]boot),
		doubts: make(map[string]bool)}
	b, err := descriptors.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	var f sightingsFile
	err = json.Unmarshal(b, &f)
	if sum, ok := smallfile.JSONSum(b, `,"crc32c":0}`); err == nil && (!ok || sum != f.Check) {
		err = errors.New("it fails its checksum")
	}
	if err == nil && f.Version != sightingsVersion {
		err = fmt.Errorf("it has version %d, this turnlog reads version %d", f.Version, sightingsVersion)
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

// met notes what a node says of itself, and returns what was seen of it before. number is
// that of its start, 0 from an older turnlog.
func (s *sightings) met(id string, now sighting, number uint64) (before sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.byID[id]
	if s.boots[id].number != number {
		s.changes++
		s.boots[id] = boot{number, s.changes}
	}
	s.noteLocked(id, before.with(now))
	if before.Incarnation != now.Incarnation {
		return sighting{}
	}
	return before
}

// greeted notes which directory a node has that this one reached: what it acknowledges and votes
// may come before its first question.
func (s *sightings) greeted(id, incarnation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id].Incarnation != incarnation {
		s.noteLocked(id, sighting{Incarnation: incarnation})
	}
}

// of returns what was seen of a node with that directory.
func (s *sightings) of(id, incarnation string) sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen := s.byID[id]; seen.Incarnation == incarnation {
		return seen
	}
	return sighting{}
}

// last returns what was seen of a node, whatever its directory.
func (s *sightings) last(id string) sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// boot returns the start that told last what it has.
func (s *sightings) boot(id string) boot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boots[id]
}

// doubting notes whether a node says that it is in doubt, see raftlog.Loss.
func (s *sightings) doubting(id string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is {
		s.doubts[id] = true
	} else {
		delete(s.doubts, id)
	}
}

// inDoubt reports whether a node last said that it is in doubt.
func (s *sightings) inDoubt(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubts[id]
}

// acked notes that a node's log is durable up to p, for which it was in that term. by is what boot
// returned before the entries were sent. It reports false, and notes nothing, if another
// start of the node was met since: that one was told what was seen of it without this
// acknowledgement, and may not have the entries. So they must not be counted as its own.
func (s *sightings) acked(id string, by boot, p raftlog.Position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boots[id] != by {
		return false
	}
	s.addLocked(id, func(now *sighting) { now.Index, now.Term, now.Promised = p.Index, p.Term, p.Term })
	return true
}

// voted notes that a node was in a term.
func (s *sightings) voted(id string, term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(id, func(now *sighting) { now.Promised = term })
}

// addLocked adds to what was seen of a node whose directory is known.
func (s *sightings) addLocked(id string, what func(*sighting)) {
	before, known := s.byID[id]
	if !known {
		return
	}
	now := sighting{Incarnation: before.Incarnation}
	what(&now)
	s.noteLocked(id, before.with(now))
}

func (s *sightings) noteLocked(id string, now sighting) {
	if s.byID[id] != now {
		s.byID[id] = now
		s.changed = true
	}
}

// keep forgets all nodes but those that are given: there are never more sightings than
// members.
func (s *sightings) keep(ids []string) {
	members := make(map[string]bool)
	for _, id := range ids {
		members[id] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byID, func(id string, _ sighting) bool { return !members[id] })
	maps.DeleteFunc(s.doubts, func(id string, _ bool) bool { return !members[id] })
	maps.DeleteFunc(s.boots, func(id string, _ boot) bool { return !members[id] })
}

// save writes the file if anything has changed.
func (s *sightings) save() error {
	s.mu.Lock()
	f := sightingsFile{Version: sightingsVersion, Nodes: maps.Clone(s.byID)}
	changed := s.changed
	s.changed = false
	s.mu.Unlock()
	if !changed {
		return nil
	}
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
