package trace

// Exporter takes spans that have ended. Export may be called by any goroutine, and must not block: what the exporter
// has no room for it drops.
type Exporter interface {
	Export(Span)
	Stats() Stats
}

// Stats counts spans: those that a collector took, those dropped because too many waited for it, and those that it did
// not take.
type Stats struct {
	Exported, Dropped, Failed uint64
}
