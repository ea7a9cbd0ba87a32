package values

import (
	"bytes"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (v ops) setString(o *turn.SetString, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := v.Find(key)
	if err != nil {
		return err
	}
	held := h.Held()
	var old []byte
	if held && h.Type == turn.TypeString {
		e, err := v.Elements(h)
		if err != nil {
			return err
		}
		if old, _, err = e.Get(""); err != nil {
			return err
		}
	}
	if o.Get && held {
		if err := h.CheckType(turn.TypeString); err != nil {
			return err
		}
		if err := v.Spend(uint64(len(old))); err != nil {
			return err
		}
		r.Value, r.Found = old, true
	}
	if held {
		r.Revision = h.Revision
	}
	if o.If == turn.SetIfAbsent && held || o.If == turn.SetIfPresent && !held {
		return nil
	}
	r.Count = 1
	if o.KeepValue && o.TTL == 0 && o.At == 0 && h.Deadline == 0 {
		return nil
	}
	v.overwrite(key, h, old, o)
	r.Revision = v.Revision(key)
	return nil
}

// overwrite makes a key hold a string. h is what it holds; if that is a string,
// it is old.
func (v ops) overwrite(key string, h *memtable.Head, old []byte, o *turn.SetString) {
	deadline := o.At
	switch {
	case o.TTL > 0:
		deadline = v.After(o.TTL)
	case o.KeepTTL && h.Held():
		deadline = h.Deadline
	}
	passed := deadline != 0 && deadline <= v.Now()
	same := h != nil && h.Type == turn.TypeString
	if h != nil && (passed || !same) {
		v.Remove(key, h)
	}
	if passed {
		return
	}
	if same {
		h = v.Own(key, h)
	} else {
		h = v.Begin(key, turn.TypeString)
	}
	if !o.KeepValue {
		v.put(h, "", bytes.Clone(o.Value), old, same)
	}
	v.SetDeadline(key, h, deadline, 0)
	v.Settle(key, h, same)
}

func (v ops) addInt(o *turn.AddInt, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := v.value(key, turn.TypeString)
	if err != nil {
		return err
	}
	var old []byte
	if h != nil {
		e, err := v.Elements(h)
		if err != nil {
			return err
		}
		if old, _, err = e.Get(""); err != nil {
			return err
		}
	}
	had := h != nil
	if r.Number, err = addInt(old, had, o.Delta, "value is not an integer or out of range"); err != nil {
		return err
	}
	if h, err = v.ownValue(key, h, turn.TypeString); err != nil {
		return err
	}
	v.put(h, "", formatInt(r.Number), old, had)
	v.settle(key, h, had, r)
	return nil
}

func (v ops) setNew(o *turn.SetNew, r *turn.Result) error {
	for _, k := range o.Keys {
		if h, err := v.Find(layout.JoinKey(k)); err != nil || h.Held() {
			return err
		}
	}
	for i, k := range o.Keys {
		var one turn.Result
		if err := v.setString(&turn.SetString{Key: k, Value: o.Values[i]}, &one); err != nil {
			return err
		}
		r.Revision = one.Revision
	}
	r.Count = uint64(len(o.Keys))
	return nil
}

func getString(e *memtable.Elements, r *turn.Result) (err error) {
	r.Value, r.Found, err = e.Get("")
	return err
}
