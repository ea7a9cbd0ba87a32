package history

// FaultTime is a fault, and when it lasted.
type FaultTime struct {
	Name, Node string
	Begin, End int64 // nanoseconds since the run began; End is the history's if none is recorded
}

// Faults returns the faults of a history, in the order in which they began.
func (h *History) Faults() []FaultTime {
	var out []FaultTime
	open := map[string]int{} // name and node → place in out
	for _, m := range h.Marks {
		key := m.Text + "\x00" + m.Node
		switch {
		case m.Type != Fault:
		case m.Begin:
			open[key] = len(out)
			out = append(out, FaultTime{Name: m.Text, Node: m.Node, Begin: m.Time, End: h.End})
		default:
			if i, ok := open[key]; ok {
				out[i].End = m.Time
			}
		}
	}
	return out
}
