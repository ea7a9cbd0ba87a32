package turn

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Labels are metadata by which sessions are found. The metadata key label.user, of the value u1, is
// the label user of the value u1: Sessions lists the sessions that carry it. They change as all metadata
// does, with an append or without, and the index changes in the same log entry.

// LabelPrefix begins the metadata keys that are labels.
const LabelPrefix = "label."

const (
	// MaxLabels bounds the labels of a session, and of a query. Every change of a session writes an
	// index entry for each of its labels.
	MaxLabels = 8
	// MaxLabelName and MaxLabelValue bound the name and the value of a label, in bytes.
	MaxLabelName  = 64
	MaxLabelValue = 256
)

// Label is a label of a session.
type Label struct {
	Name  string // of letters, digits, '.', '_', '/' and '-'
	Value string // arbitrary bytes
}

// LabelsOf returns the labels among metadata, ordered by name. It omits invalid ones, and all but the
// first MaxLabels: clusters before Level2 accepted any metadata.
func LabelsOf(metadata map[string]string) (labels []Label) {
	if !HasLabels(metadata) {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(metadata)) {
		name, is := strings.CutPrefix(k, LabelPrefix)
		l := Label{name, metadata[k]}
		if is && l.check() == nil && len(labels) < MaxLabels {
			labels = append(labels, l)
		}
	}
	return labels
}

// HasLabels reports whether metadata contains labels.
func HasLabels(metadata map[string]string) bool {
	for k := range metadata {
		if strings.HasPrefix(k, LabelPrefix) {
			return true
		}
	}
	return false
}

// check reports what is wrong with a label.
func (l Label) check() error {
	if l.Name == "" || len(l.Name) > MaxLabelName {
		return Errorf(Invalid, "a label's name must have 1 to %d bytes, has %d", MaxLabelName, len(l.Name))
	}
	for i := range len(l.Name) {
		switch c := l.Name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '/', c == '-':
		default:
			return Errorf(Invalid, "label %q: only letters, digits, '.', '_', '/' and '-' are allowed", l.Name)
		}
	}
	if len(l.Value) > MaxLabelValue {
		return Errorf(TooLarge, "label %s has a value of %d bytes, the limit is %d", l.Name, len(l.Value),
			MaxLabelValue)
	}
	return nil
}

// checkLabels checks the labels among metadata that is set.
func checkLabels(set map[string]string) error {
	for k, v := range set {
		if name, is := strings.CutPrefix(k, LabelPrefix); is {
			if err := (Label{name, v}).check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLabels checks what a query by labels asks for.
func (q *Sessions) checkLabels(l Limits) error {
	switch {
	case len(q.Labels) == 0 && len(q.Prefixes) > 0:
		return Errorf(Invalid, "a list without labels has one prefix")
	case len(q.Labels) == 0:
		return nil
	case len(q.Labels) > MaxLabels:
		return Errorf(TooLarge, "%d labels in one query, the limit is %d", len(q.Labels), MaxLabels)
	case q.List || q.Type != TypeNone:
		return Errorf(Invalid, "only sessions have labels")
	}
	for i, label := range q.Labels {
		if err := label.check(); err != nil {
			return err
		}
		if slices.ContainsFunc(q.Labels[:i], func(o Label) bool { return o.Name == label.Name }) {
			return Errorf(Invalid, "label %s occurs twice in one query", label.Name)
		}
	}
	for _, p := range q.Prefixes {
		if len(p) > l.KeyBytes {
			return Errorf(TooLarge, "a prefix is longer than a key may be (%d bytes)", l.KeyBytes)
		}
	}
	_, err := q.Before()
	return err
}

// Before returns the revision in the cursor of a query by labels: the page has only sessions of lower
// revisions.
func (q *Sessions) Before() (revision uint64, err error) {
	if q.Cursor == "" {
		return math.MaxUint64, nil
	}
	if revision, err = strconv.ParseUint(q.Cursor, 10, 64); err != nil {
		return 0, Errorf(Invalid, "the cursor %.64q is none of a list by labels", q.Cursor)
	}
	return revision, nil
}
