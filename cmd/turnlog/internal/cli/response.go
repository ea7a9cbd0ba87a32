package cli

import (
	"encoding/json"
	"net/http"

	"github.com/turnlog/turnlog/turn"
)

// ResponseError returns the error that a node answered a request with.
func ResponseError(res *http.Response) error {
	var answer struct {
		Error struct {
			Code, Message, Outcome string
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return turn.Errorf(turn.Unknown, "%s, with a body that is not turnlog's", res.Status)
	}
	kind, known := turn.ParseKind(answer.Error.Code)
	if !known && answer.Error.Outcome != "not_applied" {
		kind = turn.Unknown
	}
	return turn.Errorf(kind, "%s", answer.Error.Message)
}
