package migrate

import "context"

// What there is to a value beside its elements.

// finish gives the target's key the deadline of the source's, and a stream its
// last id. It reports whether the source still has the key.
func (c *valueCopy) finish(ctx context.Context) (bool, error) {
	if c.kind == streamKind {
		if err := c.finishStream(ctx); err != nil {
			return false, err
		}
	}
	now, err := c.describe(ctx, c.source, c.key, false)
	if err != nil {
		return false, c.place(c.cfg.Source, err)
	}
	if !now.exists() || c.cfg.DryRun {
		return now.exists(), nil // an expired one at the target is left to the verification
	}
	c.ends = now.ends
	there, err := c.describe(ctx, c.target, c.to, false)
	if err != nil || c.sameDeadline(now, there) {
		return true, c.place(c.cfg.Target, err)
	}
	command := []any{"persist", c.to}
	if now.ends {
		command = []any{"pexpire", c.to, max(1, now.left().Milliseconds())}
	}
	replies, err := c.ask(ctx, c.target, [][]any{command})
	if err == nil {
		err, _ = replies[0].(error)
	}
	return true, c.place(c.cfg.Target, err)
}

// sameDeadline compares the deadlines of a key at both ends.
func (j *Job) sameDeadline(a, b state) bool {
	if !a.ends || !b.ends {
		return a.ends == b.ends
	}
	return (a.left() - b.left()).Abs() <= j.cfg.TTLTolerance
}

// finishStream gives the target's stream the highest id that the source's ever
// had, where that entry is no longer there: later entries get higher ids. Consumer
// groups stay behind.
func (c *valueCopy) finishStream(ctx context.Context) error {
	replies, err := c.ask(ctx, c.source,
		[][]any{{"xinfo", "stream", c.key}, {"xrevrange", c.key, "+", "-", "count", 1}})
	if err != nil {
		return c.place(c.cfg.Source, err)
	}
	info := fieldsOf(replies[0]) // of turnlog there is none
	c.groups, _ = info["groups"].(int64)
	newest, _, err := parseReply(c.kind, replies[1], "", 0)
	highest, _ := info["last-generated-id"].(string)
	if err != nil || highest == "" || c.cfg.DryRun || len(newest) > 0 && newest[0][0] == highest {
		return err
	}
	if highest == "0-0" { // it never had an entry: the lowest id makes the stream
		highest = "0-1"
	}
	// Refused where the target has had that id already.
	_, err = c.ask(ctx, c.target, [][]any{{"xadd", c.to, highest, "-", ""}, {"xdel", c.to, highest}})
	return c.place(c.cfg.Target, err)
}

// fieldsOf reads a map in its RESP2 form; anything else has no fields.
func fieldsOf(reply any) map[string]any {
	list, _ := reply.([]any)
	fields := map[string]any{}
	for i := 0; i+1 < len(list); i += 2 {
		if name, ok := list[i].(string); ok {
			fields[name] = list[i+1]
		}
	}
	return fields
}
