package httpapi

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/turnlog/turnlog/internal/admintoken"
	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/turn"
)

// need is what it takes to use an endpoint. The zero value is the most.
type need uint8

const (
	anAdmin need = iota
	aWriter
	aReader
	aUser   // any
	anybody // everybody may
)

func (n need) right() auth.Right {
	switch n {
	case aWriter:
		return auth.Write
	case aReader:
		return auth.Read
	case aUser:
		return auth.None
	}
	return auth.Admin
}

// admit lets a request in that its user may make, as far as its head tells: its
// body is not read before. What the body or the query concern beyond that is for
// permit.
func (c *call) admit(r *route) error {
	switch {
	case r.needs == anybody:
		return nil
	case c.server.cfg.Users == nil && r.needs == anAdmin:
		return c.admitLocal()
	case c.server.cfg.Users == nil:
		return nil
	}
	name, password, ok := credentials(c.request)
	if !ok {
		return turn.Errorf(turn.Unauthorized, "authentication required: send Authorization: Basic, or "+
			"Bearer USER:PASSWORD")
	}
	var err error
	if c.login, err = c.server.cfg.Users.Authenticate(name, password, c.request.RemoteAddr); err != nil {
		return err
	}
	u, err := c.user()
	if err == nil {
		err = c.known(u)
	}
	switch {
	case err != nil:
		return err
	case !u.May(r.needs.right()):
		return turn.Errorf(turn.Forbidden, "user %s has the right %s; this requires %s", u.Name, u.Right,
			r.needs.right())
	case r.needs != aReader && r.needs != aWriter:
		return nil
	case !u.MayEnter(c.namespace):
		return turn.Errorf(turn.Forbidden, "user %s may not use namespace %.64q", u.Name, c.namespace)
	}
	if key, ok := c.path["key"]; ok {
		return permitKeys(u, turn.Key{Name: key})
	}
	return nil
}

// admitLocal admits a request for administration where there are no users. The request
// must have the token from the node's data directory, which web pages and other users of
// the machine cannot read.
func (c *call) admitLocal() error {
	cfg := &c.server.cfg
	if cfg.AdminToken == "" {
		return turn.Errorf(turn.Forbidden,
			"this node has neither users nor an admin token; it is not administered over HTTP")
	}
	scheme, token, _ := strings.Cut(c.request.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") &&
		subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(cfg.AdminToken)) == 1 {
		return nil
	}
	c.out.w.Header().Set(admintoken.FileHeader, cfg.AdminTokenFile)
	return turn.Errorf(turn.Unauthorized,
		"administration takes the node's admin token, as Authorization: Bearer TOKEN; it is in the file %s on the "+
			"node's machine",
		cfg.AdminTokenFile)
}

// credentials returns what the request's Authorization says.
func credentials(r *http.Request) (name, password string, ok bool) {
	if name, password, ok = r.BasicAuth(); ok {
		return name, password, true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", "", false
	}
	return strings.Cut(strings.TrimSpace(token), ":")
}

// user returns the user of the request, with the rights of now: a request can last longer
// than a right. It is nil where there are no users.
func (c *call) user() (*auth.User, error) {
	if c.server.cfg.Users == nil {
		return nil, nil
	}
	if u := c.server.cfg.Users.Current().Find(c.login); u != nil {
		return u, nil
	}
	return nil, turn.Errorf(turn.Unauthorized, "the user or the password does not exist any more")
}

// permit decides whether the request's user may do what was decoded. Every
// operation and query goes through it, in a namespace that admit has seen.
func (c *call) permit(right auth.Right, what any) error {
	u, err := c.user()
	switch {
	case err != nil:
		return err
	case u == nil:
		return nil
	case !u.May(right) || !u.MayEnter(c.namespace):
		return turn.Errorf(turn.Forbidden, "user %s does not have the right to %s in namespace %.64q", u.Name, right,
			c.namespace)
	}
	switch what := what.(type) {
	case *turn.Sessions: // shows the user's own: see auth.User.List
		return nil
	case *turn.Erase:
		if !u.MayTouchAll(what.Namespace, what.Prefix) {
			return turn.Errorf(turn.Forbidden, "not all keys that begin with %.64q are those of user %s",
				what.Prefix, u.Name)
		}
		return nil
	case *turn.Fork:
		return permitKeys(u, what.Key, what.To)
	case *turn.Rename:
		return permitKeys(u, what.Key, what.To)
	case *turn.Tx:
		return permitKeys(u, what.Keys()...)
	}
	return permitKeys(u, c.key())
}

func permitKeys(u *auth.User, keys ...turn.Key) error {
	for _, k := range keys {
		if !u.MayTouch([]byte(k.Name)) {
			return turn.Errorf(turn.Forbidden, "the key %.64q is not one of user %s", k.Name, u.Name)
		}
	}
	return nil
}
