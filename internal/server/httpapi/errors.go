package httpapi

import (
	"net/http"

	"github.com/turnlog/turnlog/turn"
)

// statuses is the HTTP status of each kind of error, and whether to tell the
// client when to try again.
var statuses = map[turn.Kind]struct {
	code       int
	retryAfter bool
}{
	turn.Internal:     {http.StatusInternalServerError, false},
	turn.Invalid:      {http.StatusBadRequest, false},
	turn.TooLarge:     {http.StatusRequestEntityTooLarge, false},
	turn.NotFound:     {http.StatusNotFound, false},
	turn.Exists:       {http.StatusConflict, false},
	turn.Conflict:     {http.StatusConflict, false},
	turn.IDReused:     {http.StatusConflict, false},
	turn.WrongType:    {http.StatusConflict, false},
	turn.Overloaded:   {http.StatusServiceUnavailable, true},
	turn.Unavailable:  {http.StatusServiceUnavailable, true},
	turn.Unknown:      {http.StatusGatewayTimeout, false},
	turn.ReadOnly:     {http.StatusInsufficientStorage, true},
	turn.Newer:        {http.StatusInternalServerError, false},
	turn.Corrupt:      {http.StatusInternalServerError, false},
	turn.Unauthorized: {http.StatusUnauthorized, false},
	turn.Forbidden:    {http.StatusForbidden, false},
}

// retryAfter is the value of the Retry-After header, in seconds: about as long
// as an election takes.
const retryAfter = "1"

// methodError answers a method that the path does not have.
type methodError struct {
	allow string // comma-separated methods
}

func (e *methodError) Error() string { return "this path has the methods " + e.allow + " only" }

type errorReply struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code     string  `json:"code"`
	Message  string  `json:"message"`
	Outcome  string  `json:"outcome"`
	Retry    bool    `json:"retry"`
	Revision *uint64 `json:"revision,omitempty"` // with CONFLICT
	// Which condition or step of a transaction failed, from 1 on.
	Condition int `json:"condition,omitempty"`
	Step      int `json:"step,omitempty"`
}

// describe gives the status and the body of err.
func describe(err error) (status int, body errorReply, retryLater bool) {
	var e *turn.Error
	if m, ok := err.(*methodError); ok {
		e, status = turn.Errorf(turn.Invalid, "%v", m), http.StatusMethodNotAllowed
	} else {
		e = turn.AsError(err)
		status = statuses[e.Kind].code
	}
	if status == 0 {
		status = http.StatusInternalServerError
	}
	body.Error = errorBody{Code: e.Kind.String(), Message: e.Message, Outcome: e.Outcome(), Retry: e.Retry(),
		Condition: e.Condition, Step: e.Step}
	if e.Kind == turn.Conflict {
		body.Error.Revision = &e.Revision
	}
	return status, body, statuses[e.Kind].retryAfter
}

// fail writes err as the response. It is the only place where an error becomes one.
func (o *output) fail(err error) {
	status, body, retryLater := describe(err)
	h := o.w.Header()
	h.Set("Content-Type", "application/json")
	if m, ok := err.(*methodError); ok {
		h.Set("Allow", m.allow)
	}
	if status == http.StatusUnauthorized {
		h["Www-Authenticate"] = []string{`Basic realm="turnlog", charset="UTF-8"`, `Bearer realm="turnlog"`}
	}
	if retryLater {
		h.Set("Retry-After", retryAfter)
	}
	o.code = status
	o.buf = o.buf[:0]
	_ = o.value(body) // strings and numbers: cannot fail
}
