package command

import (
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// turnMeta is TURN.META key [SET k v …] [UNSET k …] [EXPECT rev]. SET and UNSET
// take what follows up to the end or to a word that begins another option; to
// set a key that is called like one, repeat SET or UNSET before it.
func turnMeta(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	if len(args) == 2 {
		return req.getMeta(k)
	}
	op := &turn.SetMetadata{Key: k, Set: make(map[string]string)}
	o := options{args: args[2:]}
	section := ""
	for o.more() {
		word := string(o.take("an option"))
		switch {
		case isMetaOption(word):
			if section = word; Is([]byte(word), "EXPECT") {
				op.Expect = o.expect()
				continue
			}
			word = string(o.take("a metadata key"))
		case section == "" || Is([]byte(section), "EXPECT"):
			o.unknown(word)
		}
		if Is([]byte(section), "SET") {
			op.Set[word] = string(o.take("the value of " + Clip(word, 40)))
		} else {
			op.Unset = append(op.Unset, word)
		}
	}
	if o.err != "" {
		return o.err
	}
	return write(k, op, func(w *resp.Writer, r turn.Result) { fields(w, "revision", r.Revision) })
}

func isMetaOption(word string) bool {
	return Is([]byte(word), "SET") || Is([]byte(word), "UNSET") || Is([]byte(word), "EXPECT")
}

func (req *Request) getMeta(k turn.Key) Action {
	return req.readSession(k, func(s *turn.Session) Reply {
		return func(w *resp.Writer) {
			if s == nil {
				w.Map(0)
				return
			}
			writeMeta(w, s.Metadata)
		}
	})
}
