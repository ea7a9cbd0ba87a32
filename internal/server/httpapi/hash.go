package httpapi

import (
	"unicode/utf8"

	"github.com/turnlog/turnlog/turn"
)

// defaultFields is the number of fields that a read returns at most when it says no number.
const defaultFields = 1000

// hashReply is a page of a hash.
type hashReply struct {
	turn.Result
	consistency string
	encoding    encoding
}

func (r hashReply) write(o *output) {
	o.text(`{"fields":[`)
	for i := range r.Elements {
		if i > 0 {
			o.text(`,`)
		}
		o.field(&r.Elements[i], r.encoding)
	}
	o.text(`],"cursor":`)
	o.quote(cursorWord(r.Cursor))
	o.text(`,"count":`)
	o.number(r.Count)
	o.text(`,"revision":`)
	o.number(r.Revision)
	o.text(`,"index":`)
	o.number(r.Index)
	o.text(`,"consistency":`)
	o.quote(r.consistency)
	o.text("}\n")
}

// field writes a field as a JSON object.
func (o *output) field(f *turn.Element, e encoding) {
	if utf8.ValidString(f.Name) {
		o.text(`{"name":`)
		o.quote(f.Name)
	} else {
		o.text(`{"name_base64":`)
		o.base64([]byte(f.Name))
	}
	o.data(f.Value, e)
	o.text(`}`)
}

func (s *Server) getHash(c *call) (any, error) {
	q := &turn.AllFields{Key: c.key(), Type: turn.TypeHash, Cursor: c.cursor(),
		Limit: int(min(c.number("limit", 1, defaultFields), 1<<31-1))}
	encoding := c.encoding()
	fresh, label := c.consistency()
	if c.err != nil {
		return nil, c.err
	}
	res, err := c.query(q, fresh, c.foreseeFields(q))
	if err != nil {
		return nil, err
	}
	size := int64(0)
	for i := range res.Elements {
		size += int64(len(res.Elements[i].Name) + len(res.Elements[i].Value))
	}
	return hashReply{res, label, encoding}, c.hold(size)
}

// foreseeFields is foresee for the fields of a hash.
func (c *call) foreseeFields(q *turn.AllFields) int64 {
	res, err := c.server.cfg.Engine.Query(c.ctx, &turn.Info{Key: q.Key}, turn.Consistency{Level: turn.Stale})
	s := res.Session
	if err != nil || s == nil || s.Count == 0 {
		return 0
	}
	return min(int64(min(uint64(q.Limit), s.Count)*(s.Bytes/s.Count+1)), int64(c.limits.ReadBytes))
}

type hashChangedReply struct {
	Added     uint64 `json:"added"`
	Removed   uint64 `json:"removed"`
	Count     uint64 `json:"count"`
	Revision  uint64 `json:"revision"`
	Duplicate bool   `json:"duplicate"`
}

// patchHash sets and removes fields, at once.
func (s *Server) patchHash(c *call) (any, error) {
	body, err := c.body(appendBody(c.limits))
	if err != nil {
		return nil, err
	}
	tx, err := decodeHashPatch(body, c.key())
	if err != nil {
		return nil, err
	}
	res, err := c.apply(tx)
	if err != nil {
		return nil, err
	}
	r := hashChangedReply{Duplicate: res.Duplicate}
	for i := range res.Steps {
		one := &res.Steps[i].Result
		r.Added, r.Removed = r.Added+uint64(one.Number), r.Removed+one.Removed
		r.Count, r.Revision = one.Count, one.Revision
	}
	return r, nil
}

// decodeHashPatch reads {"id"?, "expect"?, "fields"?, "names"?, "names_base64"?}: what is removed comes first.
func decodeHashPatch(body []byte, k turn.Key) (*turn.Tx, error) {
	tx := &turn.Tx{All: true}
	set, remove := &turn.SetFields{Key: k, Type: turn.TypeHash}, &turn.RemoveFields{Key: k, Type: turn.TypeHash}
	var revision *uint64
	err := inBody(body).read(readers{
		"id":           text(&tx.ID),
		"expect":       expect(&revision),
		"fields":       newFields(set),
		"names":        fieldNames(remove, text),
		"names_base64": fieldNames(remove, base64Name),
	})
	if revision != nil {
		tx.Conditions = []turn.Condition{{Key: k, Is: turn.AtRevision, N: *revision}}
	}
	if len(remove.Names) > 0 {
		tx.Steps = append(tx.Steps, turn.Step{Op: remove})
	}
	if len(set.Fields) > 0 {
		tx.Steps = append(tx.Steps, turn.Step{Op: set})
	}
	if err == nil && len(tx.Steps) == 0 {
		err = turn.Errorf(turn.Invalid, "body: needs fields to set, or names of fields to remove")
	}
	return tx, err
}
