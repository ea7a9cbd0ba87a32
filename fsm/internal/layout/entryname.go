package layout

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

func EntryName(id turn.EntryID) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, EntryIDSize), id.Time)
	return string(binary.BigEndian.AppendUint64(b, id.Seq))
}

func SplitEntryName(name string) turn.EntryID {
	b := []byte(name)
	return turn.EntryID{Time: binary.BigEndian.Uint64(b), Seq: binary.BigEndian.Uint64(b[8:])}
}

const EntryIDSize = 16
