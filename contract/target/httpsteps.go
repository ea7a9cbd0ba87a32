package target

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"github.com/turnlog/turnlog/contract"
)

// TransactSteps implements contract.Stepper.
func (s *httpStore) TransactSteps(
	ctx context.Context, id string, conditions []contract.Condition, steps ...contract.Step,
) (popped []contract.Message, err error) {
	required, changes := []map[string]any{}, []map[string]any{}
	for _, c := range conditions {
		if c.Version == "" {
			required = append(required, map[string]any{"key": c.Session, "exists": false})
			continue
		}
		revision, err := strconv.ParseUint(c.Version, 10, 64)
		if err != nil {
			return nil, err
		}
		required = append(required, map[string]any{"key": c.Session, "revision": revision})
	}
	for _, st := range steps {
		changes = append(changes, httpStep(st))
	}
	answers, err := s.transact(ctx, id, required, changes)
	for _, h := range answers {
		popped = append(popped, h.decoded()...)
	}
	return popped, mustExist(err)
}

// transact makes a transaction, and returns the answers to its steps.
func (s *httpStore) transact(
	ctx context.Context, id string, conditions, steps []map[string]any,
) ([]httpHistory, error) {
	text, err := json.Marshal(map[string]any{"id": id, "conditions": conditions, "steps": steps})
	if err != nil {
		return nil, err
	}
	var reply struct {
		Steps []httpHistory `json:"steps"`
	}
	err = s.send(ctx, "POST", "/transactions?encoding=base64", bytes.NewReader(text), &reply)
	return reply.Steps, err
}

// httpStep is a step as the body of a transaction has it.
func httpStep(s contract.Step) map[string]any {
	ms := make([]httpMessage, len(s.Turn))
	for i, m := range s.Turn {
		ms[i] = httpMessage{ID: m.ID, Data: m.Encode()}
	}
	in := map[string]any{"key": s.Session}
	name := string(s.Do)
	switch s.Do {
	case contract.StepSave:
		name, in["messages"] = "append", ms
	case contract.StepPop:
		in["count"] = s.N
	case contract.StepEdit:
		in["id"], in["data_base64"] = ms[0].ID, ms[0].Data
	case contract.StepRemove:
		in["id"] = s.ID
	case contract.StepReplace:
		in["from"], in["messages"] = s.N, ms
	case contract.StepKeep:
		name, in["messages"] = "retain", s.N
	case contract.StepRename:
		in["to"] = s.To
	}
	return map[string]any{name: in}
}
