package turn

// Frees reports whether op removes data and adds at most a few bytes. Such an operation is accepted
// when the disks are so full that others are rejected. It first takes a little space, for its log entry
// and the removal itself.
func Frees(op Op) bool {
	switch o := op.(type) {
	case *Pop, *PopFirst, *RemoveMessage, *Trim, *Clear, *Delete, *Erase,
		*RemoveFields, *RemoveScores, *RemoveElements, *RemoveEntries, *TrimEntries:
		return true
	case *SetString:
		return o.KeepValue && (o.TTL > 0 || o.At > 0)
	case *Expire:
		return o.HasTTL || o.HasAt
	case *Replace:
		return len(o.Messages) == 0
	case *Tx:
		for i := range o.Steps {
			if s := &o.Steps[i]; s.Op != nil && !Frees(s.Op) {
				return false
			}
		}
		return true
	}
	return false
}
