package auth

import (
	"bytes"
	"slices"
	"strings"
)

// Right is what users may do where they may do anything at all. Each includes
// those before it.
type Right uint8

const (
	None  Right = iota // to be known
	Read               // to read sessions and keys, and subscribe to channels
	Write              // to change them, and publish
	Admin              // to look after the node and the cluster
)

var rightNames = []string{None: "none", Read: "read", Write: "write", Admin: "admin"}

func (r Right) String() string { return rightNames[r] }

// ParseRight returns the right of that name, which None has not.
func ParseRight(name string) (Right, bool) {
	i := slices.Index(rightNames, name)
	return Right(max(i, 0)), i > int(None)
}

// everyNamespace stands for all in a user's namespaces.
const everyNamespace = "*"

// User is a user who may connect. It does not change; its methods may be called
// by any goroutine. A nil *User may do everything: it stands for everybody where
// no users are configured.
type User struct {
	Name       string
	Right      Right
	Namespaces []string // everyNamespace: all
	Prefixes   []string // of keys; nil: all
	Channels   []string // prefixes; nil: see MayHear

	passwords []*password
}

// May reports whether the user has a right, where they have any.
func (u *User) May(r Right) bool { return u == nil || u.Right >= r }

// MayEnter reports whether the user has any right in a namespace.
func (u *User) MayEnter(namespace string) bool {
	return u == nil || slices.Contains(u.Namespaces, namespace) || slices.Contains(u.Namespaces, everyNamespace)
}

// MayTouch reports whether a key is the user's, given that they may enter its
// namespace.
func (u *User) MayTouch(key []byte) bool {
	if u == nil || u.Prefixes == nil {
		return true
	}
	for _, p := range u.Prefixes {
		if len(key) >= len(p) && string(key[:len(p)]) == p {
			return true
		}
	}
	return false
}

// MayTouchAll reports whether every key of a namespace that begins with prefix is
// the user's.
func (u *User) MayTouchAll(namespace, prefix string) bool {
	return u.MayEnter(namespace) && (u == nil || u.Prefixes == nil || begins(prefix, u.Prefixes))
}

// MayHear reports whether every channel that begins with prefix is the user's.
// namespaces are those that share the channel: a user with channels named needs
// one of them, another user all of them, with all of their keys.
func (u *User) MayHear(namespaces []string, prefix []byte) bool {
	switch {
	case u == nil:
		return true
	case u.Channels != nil:
		return slices.ContainsFunc(namespaces, u.MayEnter) &&
			slices.ContainsFunc(u.Channels, func(p string) bool { return bytes.HasPrefix(prefix, []byte(p)) })
	case u.Prefixes != nil:
		return false
	}
	for _, ns := range namespaces {
		if !u.MayEnter(ns) {
			return false
		}
	}
	return true
}

// Same reports whether v may do what u may, and nothing else.
func (u *User) Same(v *User) bool {
	return u == v || u != nil && v != nil && u.Right == v.Right && slices.Equal(u.Namespaces, v.Namespaces) &&
		u.limited() == v.limited() && slices.Equal(u.Prefixes, v.Prefixes) && slices.Equal(u.Channels, v.Channels)
}

// limited tells lists that are left out from empty ones.
func (u *User) limited() [2]bool { return [2]bool{u.Prefixes != nil, u.Channels != nil} }

func begins(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// within returns what of the keys that begin with prefix is the user's: prefixes
// in order, none of which begins with another.
func (u *User) within(prefix string) []string {
	if u == nil || u.Prefixes == nil || begins(prefix, u.Prefixes) {
		return []string{prefix}
	}
	var parts []string
	for _, p := range slices.Sorted(slices.Values(u.Prefixes)) {
		if strings.HasPrefix(p, prefix) && !begins(p, parts) {
			parts = append(parts, p)
		}
	}
	return parts
}
