package wal

import (
	"errors"
	"fmt"
	"io"
)

// The manifest says which segment files there must be and how far the log had surely come. It is one file of two slots,
// at offsets 0 and
// 4096. Both are written on every change, one after the other, each followed by a sync: whichever sector is lost, to a
// crash in the middle or to later damage, the other slot is whole and holds a state that the files agree with. Writing
// in place needs no space, so a full disk can be truncated.
//
//	 0  preamble "turnlog\n"
//	16  log id   u64   drawn when the log was made; in every segment header too
//	24  sequence u64   +1 with each change; the higher of the two slots counts
//	32  first    u64   number of the oldest segment
//	40  last     u64   number of the newest segment, used or prepared; first-1 if there is none
//	48  mark: segment u64, offset u64, next index u64 (0: any)
//	72  epoch    u32
//	76  crc      u32   of bytes 0–76
//
// The mark is a place up to which the log was synced. It rises lazily. Before it everything must verify; from it on
// only frames of the present epoch count.
const (
	manifestSlotSize = 4096
	manifestBodySize = 80
)

// mark is a position between two frames that is known to be durable.
type mark struct {
	segment uint64
	offset  int64
	next    uint64
}

// covers reports whether the place lies before the mark.
func (m mark) covers(segment uint64, offset int64) bool {
	return segment < m.segment || segment == m.segment && offset < m.offset
}

type manifest struct {
	logID       uint64
	sequence    uint64
	first, last uint64
	mark        mark
	epoch       uint32
}

// accepts reports whether a frame of this epoch may be at this place.
func (m manifest) accepts(segment uint64, offset int64, epoch uint32) bool {
	if m.mark.covers(segment, offset) {
		return epoch <= m.epoch
	}
	return epoch == m.epoch
}

func (m manifest) encode() []byte {
	b := make([]byte, manifestSlotSize)
	putPreamble(b, manifestMagic)
	le.PutUint64(b[16:], m.logID)
	le.PutUint64(b[24:], m.sequence)
	le.PutUint64(b[32:], m.first)
	le.PutUint64(b[40:], m.last)
	le.PutUint64(b[48:], m.mark.segment)
	le.PutUint64(b[56:], uint64(m.mark.offset))
	le.PutUint64(b[64:], m.mark.next)
	le.PutUint32(b[72:], m.epoch)
	le.PutUint32(b[76:], checksum(b[:76]))
	return b
}

func decodeManifest(b []byte) (m manifest, reason string, err error) {
	if reason, err = checkPreamble(b, manifestMagic); reason != "" || err != nil {
		return manifest{}, reason, err
	}
	if checksum(b[:76]) != le.Uint32(b[76:]) {
		return manifest{}, "the manifest does not match its checksum", nil
	}
	return manifest{
		logID:    le.Uint64(b[16:]),
		sequence: le.Uint64(b[24:]),
		first:    le.Uint64(b[32:]),
		last:     le.Uint64(b[40:]),
		mark: mark{
			segment: le.Uint64(b[48:]),
			offset:  int64(le.Uint64(b[56:])),
			next:    le.Uint64(b[64:]),
		},
		epoch: le.Uint32(b[72:]),
	}, "", nil
}

// manifestFile is the manifest and its file.
type manifestFile struct {
	file File
	now  manifest
}

// openManifest reads the manifest. A missing file is fs.ErrNotExist. damaged tells that one slot had to be ignored.
func openManifest(dir folder) (m *manifestFile, damaged string, err error) {
	file, err := dir.open(manifestName)
	if err != nil {
		return nil, "", err
	}
	m = &manifestFile{file: file}
	if damaged, err = m.read(dir.path(manifestName)); err != nil {
		file.Close()
		return nil, "", err
	}
	return m, damaged, nil
}

func (m *manifestFile) read(path string) (damaged string, err error) {
	found := false
	for slot := range 2 {
		b := make([]byte, manifestBodySize)
		n, err := m.file.ReadAt(b, int64(slot)*manifestSlotSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("wal: read %s: %w", path, err)
		}
		var s manifest
		reason := "the manifest is cut off"
		if n == len(b) {
			if s, reason, err = decodeManifest(b); err != nil {
				return "", fmt.Errorf("%s: %w", path, err)
			}
		}
		if reason != "" {
			damaged = fmt.Sprintf("slot %d: %s", slot, reason)
			continue
		}
		if !found || s.sequence > m.now.sequence {
			m.now = s
		}
		found = true
	}
	if !found {
		return "", &CorruptError{File: path, Reason: "neither slot is readable: " + damaged}
	}
	return damaged, nil
}

// createManifest makes the manifest of a new, empty log. Its name appears only when it is whole, and before any segment
// does.
func createManifest(dir folder, logID uint64) (*manifestFile, error) {
	file, err := dir.create(manifestName + tempSuffix)
	if err != nil {
		return nil, err
	}
	m := &manifestFile{file: file,
		now: manifest{logID: logID, first: 1, epoch: 1, mark: mark{segment: 1, offset: headerSize}}}
	// Each step below must be durable before the next one.
	for _, step := range []func() error{
		func() error { return m.write(m.now) },
		func() error { return dir.rename(manifestName+tempSuffix, manifestName) },
		dir.sync,
	} {
		if err := step(); err != nil {
			file.Close()
			return nil, err
		}
	}
	return m, nil
}

// write makes next the manifest. After an error it is unknown which of the two is on disk.
func (m *manifestFile) write(next manifest) error {
	next.sequence++
	b := next.encode()
	for slot := range int64(2) {
		if _, err := m.file.WriteAt(b, slot*manifestSlotSize); err != nil {
			return err
		}
		if err := m.file.Sync(); err != nil {
			return err
		}
	}
	m.now = next
	return nil
}
