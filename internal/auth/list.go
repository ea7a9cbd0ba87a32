package auth

import (
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// List answers q with the user's keys only: ask is asked for those parts of what q
// lists that are theirs, in order. A cursor never names a key of another user.
func (u *User) List(q turn.Sessions, ask func(turn.Sessions) (turn.Result, error)) (turn.Result, error) {
	if u == nil || u.Prefixes == nil {
		return ask(q)
	}
	if len(q.Labels) > 0 { // in the order of changes, in which a user's keys lie among those of others
		if q.Prefixes = u.within(q.Prefix); len(q.Prefixes) == 0 {
			return turn.Result{}, nil
		}
		return ask(q)
	}
	var all turn.Result
	cursor, limit := q.Cursor, q.Limit
	parts := u.within(q.Prefix)
	for i, part := range parts {
		q.Prefix, q.Cursor, q.Limit = part, "", limit-len(all.Sessions)
		if strings.HasPrefix(cursor, part) {
			q.Cursor = cursor
		} else if cursor > part {
			continue // an earlier page was past it
		}
		r, err := ask(q)
		if err != nil {
			return turn.Result{}, err
		}
		r.Sessions = append(all.Sessions, r.Sessions...)
		all = r
		n := len(all.Sessions)
		if all.Cursor == "" && n == limit && i < len(parts)-1 {
			all.Cursor = all.Sessions[n-1].Key.Name // nothing of this part is left behind it
		}
		if all.Cursor != "" {
			break
		}
	}
	return all, nil
}
