package transaction

import (
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/sessions"
	"github.com/turnlog/turnlog/turn"
)

// Steps that depend on what a session holds. What they find while the transaction is planned, they find when they
// take place: no step that turn.Tx lets come before them changes it.

// step returns what carries out a step, or the error that it would be refused with.
func (p *plan) step(op turn.Op) (sessions.Ready, error) {
	if apply, known, err := p.messageStep(op); known || err != nil {
		return apply, err
	}
	return p.Plain(op), p.plainStep(op)
}

// messageStep is step for those; known is false for others.
func (p *plan) messageStep(op turn.Op) (apply sessions.Ready, known bool, err error) {
	switch o := op.(type) {
	case *turn.Pop:
		apply, err = p.pop(o)
	case *turn.EditMessage:
		apply, err = p.edit(o)
	case *turn.RemoveMessage:
		apply, err = p.remove(o)
	case *turn.Replace:
		apply, err = p.replace(o)
	case *turn.Retain:
		apply, err = p.retain(o)
	case *turn.Rename:
		apply, err = p.ReadyRename(o)
	default:
		return nil, false, nil
	}
	return apply, true, err
}

// session returns the plan for a session, and its head before the first step: nil if there was none, or if it is
// deleted by now.
func (p *plan) session(k turn.Key) (*planned, *memtable.Head, error) {
	x, err := p.of(k, turn.TypeList)
	if err != nil || x.gone {
		return x, nil, err
	}
	return x, x.head, nil
}

func (p *plan) pop(o *turn.Pop) (sessions.Ready, error) {
	_, h, err := p.session(o.Key)
	if err != nil {
		return nil, err
	}
	apply, size, err := p.ReadyPop(o, h)
	if p.popped += size; err == nil && p.popped > turn.MaxPopped {
		err = turn.Errorf(turn.TooLarge, "the messages that a transaction pops have at most %d MiB together",
			turn.MaxPopped>>20)
	}
	return apply, err
}

func (p *plan) edit(o *turn.EditMessage) (sessions.Ready, error) {
	x, h, err := p.session(o.Key)
	if err != nil {
		return nil, err
	}
	if h == nil && !x.made {
		return nil, turn.Errorf(turn.NotFound, "the session does not exist")
	}
	seq, ok, err := p.message(h, o.Message)
	if err == nil && (!ok || x.removed[seq]) {
		err = turn.Errorf(turn.NotFound, "the session holds no such message")
	}
	return p.ReadyEdit(o, seq), err
}

func (p *plan) remove(o *turn.RemoveMessage) (sessions.Ready, error) {
	x, h, err := p.session(o.Key)
	if err != nil {
		return nil, err
	}
	seq, ok, err := p.message(h, o.Message)
	if ok && x.removed == nil {
		x.removed = make(map[uint64]bool)
	}
	if ok {
		x.removed[seq] = true
	}
	return p.ReadyRemove(o, seq), err
}

// message finds a message that a session held before the first step; h is nil if there was none.
func (p *plan) message(h *memtable.Head, m turn.MessageRef) (seq uint64, ok bool, err error) {
	if h == nil {
		return 0, false, nil
	}
	return p.Message(h, m)
}

func (p *plan) replace(o *turn.Replace) (sessions.Ready, error) {
	x, h, err := p.session(o.Key)
	if err != nil {
		return nil, err
	}
	apply, err := p.ReadyReplace(o, x.session(), p.expects(o.Key))
	if err == nil && h == nil && !x.made {
		err = turn.Errorf(turn.NotFound, "the session does not exist")
	}
	return apply, err
}

func (p *plan) retain(o *turn.Retain) (sessions.Ready, error) {
	x, h, err := p.session(o.Key)
	if err != nil {
		return nil, err
	}
	x.made = x.made || !o.All
	return p.ReadyRetain(o, h)
}
