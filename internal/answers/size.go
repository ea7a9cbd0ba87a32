package answers

import "github.com/turnlog/turnlog/turn"

// Bytes of memory that parts of an answer take beside what they hold.
const (
	messageCost = 80
	elementCost = 72
	sessionCost = 600
	// storedCost is what one of the messages or elements of a key counts for before they are read.
	storedCost = 100
)

// Size estimates the memory of an answer.
func Size(r *turn.Result) int64 {
	n := len(r.Value) + messageCost*len(r.Messages) + elementCost*len(r.Elements) + sessionCost*len(r.Sessions)
	for i := range r.Messages {
		n += len(r.Messages[i].ID) + len(r.Messages[i].Data)
	}
	for i := range r.Elements {
		n += len(r.Elements[i].Name) + len(r.Elements[i].Value)
	}
	for i := range r.Entries {
		n += elementCost * (1 + len(r.Entries[i].Fields))
		for _, f := range r.Entries[i].Fields {
			n += len(f.Name) + len(f.Value)
		}
	}
	for i := range r.Sessions {
		for k, v := range r.Sessions[i].Metadata {
			n += len(k) + len(v)
		}
	}
	size := int64(n)
	for i := range r.Steps {
		size += Size(&r.Steps[i].Result)
	}
	return size
}

// Most is how many bytes the answer to a query can have; 0: it is always small.
func Most(q turn.Query, l turn.Limits) int64 {
	all, one := int64(l.ReadBytes), int64(l.MessageBytes)
	of := func(n int) int64 {
		if int64(n) > all/max(one, 1) { // n*one may be beyond what an int64 holds
			return all
		}
		return int64(n) * one
	}
	messages := func(n int) int64 { return of(n) + messageCost*int64(min(n, l.ReadMessages())) }
	switch q := q.(type) {
	case *turn.Info, *turn.Count, *turn.Rank:
		return 0
	case *turn.CombineSets:
		if q.OnlyCount {
			return 0
		}
	case *turn.Lookup:
		if !q.Strings {
			return 0
		}
		return of(len(q.Keys))
	case *turn.GetString:
		return one
	case *turn.Fields:
		if q.Type != turn.TypeHash {
			return 0
		}
		return of(len(q.Names))
	case *turn.Sessions:
		return sessionsMost(q.Limit, l)
	case *turn.Read:
		if q.Limit > 0 {
			return messages(q.Limit)
		}
		return messages(l.ReadMessages())
	case *turn.List:
		if n := q.Stop - q.Start; (q.Start < 0) == (q.Stop < 0) && 0 <= n && n < 1<<20 {
			return messages(int(n) + 1)
		}
		return messages(l.ReadMessages())
	}
	return all
}

// sessionsMost is how many bytes n sessions can have with their metadata, which is cut to what an answer may have.
func sessionsMost(n int, l turn.Limits) int64 {
	return int64(n)*(sessionCost+400) + min(int64(n)*int64(l.MetaBytes), int64(l.AnswerBytes()))
}

// Foreseen is how many bytes the answer to a query will have at most, most or less, as the keys are now.
func Foreseen(q turn.Query, most int64, ask func(turn.Query) (turn.Result, error)) (n int64) {
	if most == 0 {
		return 0
	}
	if q, lists := q.(*turn.Sessions); lists {
		return foreseenSessions(q, most, ask)
	}
	for _, k := range keysOf(q) {
		r, err := ask(&turn.Info{Key: k})
		if err != nil {
			return most
		}
		if s := r.Session; s != nil {
			n += int64(s.Bytes + storedCost*s.Count)
		}
	}
	return min(n, most+most/4)
}

// foreseenSessions is Foreseen for a page of sessions. How many keys a namespace has is known, but not how many of its
// sessions have no messages, which a list for Redis does not show.
func foreseenSessions(q *turn.Sessions, most int64, ask func(turn.Query) (turn.Result, error)) int64 {
	if !q.List {
		return most
	}
	r, err := ask(&turn.Count{Namespace: q.Namespace})
	if err != nil || r.Count >= uint64(q.Limit) {
		return most
	}
	return min(most, sessionsMost(int(r.Count), turn.DefaultLimits())) // whose MetaBytes no setting changes
}

// keysOf returns the keys that a query is about.
func keysOf(q turn.Query) []turn.Key {
	switch q := q.(type) {
	case *turn.Read:
		return []turn.Key{q.Key}
	case *turn.List:
		return []turn.Key{q.Key}
	case *turn.GetString:
		return []turn.Key{q.Key}
	case *turn.Fields:
		return []turn.Key{q.Key}
	case *turn.AllFields:
		return []turn.Key{q.Key}
	case *turn.Scores:
		return []turn.Key{q.Key}
	case *turn.Entries:
		return []turn.Key{q.Key}
	case *turn.CombineSets:
		return q.Keys
	case *turn.Lookup:
		return q.Keys
	}
	return nil
}
