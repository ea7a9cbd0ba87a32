package client

import "github.com/turnlog/turnlog/turn"

// stepRequest returns the request that a step alone would be.
func stepRequest(op turn.Op) *request {
	switch o := op.(type) {
	case *turn.Append:
		return newRequest(vAppend).strings(o.Key.Name).messages(o.Messages)
	case *turn.SetMetadata:
		return newRequest(vSetMeta).strings(o.Key.Name).metadata(o.Set, o.Unset)
	case *turn.SetFields:
		r := newRequest(vSetFields).strings(o.Key.Name)
		for i := range o.Fields {
			r.strings(o.Fields[i].Name).bytes(o.Fields[i].Value)
		}
		return r
	case *turn.RemoveFields:
		return newRequest(vRemoveFields).strings(o.Key.Name).strings(o.Names...)
	case *turn.Trim:
		if o.By == turn.BeforeSeq {
			return newRequest(vTrim).strings(o.Key.Name, "BEFORE").uint(o.N)
		}
		return newRequest(vTrim).strings(o.Key.Name, "KEEP").uint(o.N)
	case *turn.Clear:
		return newRequest(vClear).strings(o.Key.Name)
	case *turn.Delete:
		return newRequest(vDelete).strings(o.Keys[0].Name)
	}
	return laterStepRequest(op)
}

func laterStepRequest(op turn.Op) *request {
	switch o := op.(type) {
	case *turn.Replace:
		return newRequest(vReplace).strings(o.Key.Name, "FROM").uint(o.From).messages(o.Messages)
	case *turn.Pop:
		return newRequest(vPop).strings(o.Key.Name).popping(o)
	case *turn.EditMessage:
		return newRequest(vEdit).strings(o.Key.Name).message(o.Message).bytes(o.Data)
	case *turn.RemoveMessage:
		return newRequest(vRemove).strings(o.Key.Name).message(o.Message)
	case *turn.Retain:
		return newRequest(vRetain).strings(o.Key.Name).retention(o)
	case *turn.Rename:
		return newRequest(vRename).strings(o.Key.Name).renaming(o)
	}
	return expireRequest(op.(*turn.Expire))
}

func expireRequest(o *turn.Expire) *request {
	r := newRequest(vExpire).strings(o.Key.Name)
	if !o.HasTTL {
		return r.strings("NEVER")
	}
	r.strings("PX").int(o.TTL)
	if o.Slide {
		r.strings("SLIDE")
	}
	return r
}

// popping adds what a pop asks for.
func (r *request) popping(o *turn.Pop) *request {
	side := map[turn.Side]string{turn.Head: "HEAD", turn.Tail: "TAIL", turn.Newest: "NEWEST"}[o.From]
	return r.strings("COUNT").uint(o.Count).strings("FROM", side)
}

// retention adds how much a session is to keep.
func (r *request) retention(o *turn.Retain) *request {
	switch {
	case o.All:
		return r.strings("ALL")
	case o.Keep.Messages > 0:
		return r.strings("MESSAGES").uint(o.Keep.Messages)
	}
	return r.strings("TURNS").uint(o.Keep.Turns)
}

// renaming adds what a key is renamed to.
func (r *request) renaming(o *turn.Rename) *request {
	if r.strings(o.To.Name); o.Replace {
		r.strings("REPLACE")
	}
	return r
}
