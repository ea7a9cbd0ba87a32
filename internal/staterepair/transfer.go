package staterepair

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/raftlog"
)

// A node that repairs its state asks another for all of it, over a connection of its own:
//
//	asker  → sender  8 bytes: the log index that the state must include
//	sender → asker   a byte 0, 8 bytes index and 8 bytes term of the state's last entry,
//	                 and the dump of fsm/dump.go; or
//	                 a byte 1, 2 bytes length and the reason why not
//
// Integers are little endian. The sender verifies all it sends; a dump that ends early
// says that it found damage itself.
const (
	stateComes   = 0
	stateRefused = 1

	// steadyTime bounds how long either side waits for the other to go on.
	steadyTime = 30 * time.Second
	// stateWait bounds how long a sender waits to have applied what is asked for.
	stateWait = 10 * time.Second
)

// steady is a connection on which each step has its time.
type steady struct{ net.Conn }

func (s steady) Read(b []byte) (int, error) {
	_ = s.SetReadDeadline(time.Now().Add(steadyTime)) // a connection that cannot is closed
	return s.Conn.Read(b)
}

func (s steady) Write(b []byte) (int, error) {
	_ = s.SetWriteDeadline(time.Now().Add(steadyTime))
	return s.Conn.Write(b)
}

// askState asks for a state that includes the entry least. The dump follows on in.
func askState(in io.ReadWriter, least uint64) (last raftlog.Position, err error) {
	if _, err := in.Write(binary.LittleEndian.AppendUint64(nil, least)); err != nil {
		return last, err
	}
	var b [16]byte
	if _, err := io.ReadFull(in, b[:1]); err != nil {
		return last, err
	}
	if b[0] != stateComes {
		if _, err := io.ReadFull(in, b[:2]); err != nil {
			return last, err
		}
		reason := make([]byte, binary.LittleEndian.Uint16(b[:]))
		_, err := io.ReadFull(in, reason)
		return last, errors.Join(fmt.Errorf("it does not send its state: %s", reason), err)
	}
	_, err = io.ReadFull(in, b[:])
	return raftlog.Position{Index: binary.LittleEndian.Uint64(b[:]), Term: binary.LittleEndian.Uint64(b[8:])}, err
}

// Send answers a node that repairs its own state, over a connection that the caller closes. A node
// that damage was found on sends none.
func (r *Repairer) Send(ctx context.Context, c net.Conn, to string) {
	out := steady{c}
	var ask [8]byte
	if _, err := io.ReadFull(out, ask[:]); err != nil {
		return
	}
	err := errors.New("the state is being sent to another node")
	if r.sends.TryLock() {
		defer r.sends.Unlock()
		var d *fsm.Dump
		if d, err = r.dumpFrom(ctx, binary.LittleEndian.Uint64(ask[:])); err == nil {
			if err := r.sendDump(out, d); err != nil {
				r.cfg.Logger.Warn("failed to send the state to a node that repairs its own", "to", to, "error", err)
			}
			return
		}
	}
	reason := err.Error()
	reason = reason[:min(len(reason), 1<<10)]
	b := binary.LittleEndian.AppendUint16([]byte{stateRefused}, uint16(len(reason)))
	_, _ = out.Write(append(b, reason...)) // the other side closes the connection anyhow
}

// dumpFrom returns the state as of the entry least or a later one.
func (r *Repairer) dumpFrom(ctx context.Context, least uint64) (*fsm.Dump, error) {
	ctx, cancel := context.WithTimeout(ctx, stateWait)
	defer cancel()
	if err := r.state.WaitApplied(ctx, least); err != nil {
		return nil, fmt.Errorf("the state does not include log entry %d: %w", least, err)
	}
	if err := r.state.Flush(ctx); err != nil {
		return nil, err
	}
	return r.state.Dump()
}

func (r *Repairer) sendDump(out io.Writer, d *fsm.Dump) error {
	dump := r.cfg.Stream(d)
	defer dump.Close()
	head := binary.LittleEndian.AppendUint64([]byte{stateComes}, d.Index)
	if _, err := out.Write(binary.LittleEndian.AppendUint64(head, d.Term)); err != nil {
		return err
	}
	_, err := io.Copy(out, dump)
	return err
}
