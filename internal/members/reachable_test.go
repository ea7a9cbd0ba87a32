package members

import (
	"context"
	"errors"
	"testing"

	"github.com/turnlog/turnlog/internal/requests"
)

// A voter counts for the majority that is to remain only if it can commit what the leader has.
func TestReachableVotersCanCommit(t *testing.T) {
	const last = 1000
	for name, x := range map[string]struct {
		status requests.Status
		err    error
		counts bool
	}{
		"follows":                 {requests.Status{Role: "follower", Last: last}, nil, true},
		"lags a little":           {requests.Status{Role: "follower", Last: last - near}, nil, true},
		"elects a leader":         {requests.Status{Role: "candidate", Last: last}, nil, true},
		"has not heard its role":  {requests.Status{Role: "learner", Last: last}, nil, true},
		"is far behind":           {requests.Status{Role: "follower", Last: last - near - 1}, nil, false},
		"starts":                  {requests.Status{Role: "starting", Last: last}, nil, false},
		"stops":                   {requests.Status{Role: "stopping", Last: last}, nil, false},
		"lost the end of its log": {requests.Status{Role: requests.RoleRecovering, Last: last}, nil, false},
		"lost it, and is a learner as far as it knows": {requests.Status{Role: "learner", Missing: true, Last: last},
			nil,
			false},
		"does not answer": {requests.Status{}, errors.New("no answer"), false},
	} {
		mc := New(Config{Status: func(context.Context, string) (requests.Status, error) { return x.status, x.err }})
		if got := mc.reachable(t.Context(), []string{"n2"}, last) == 1; got != x.counts {
			t.Errorf("a voter that %s counts: %v", name, got)
		}
	}
}
