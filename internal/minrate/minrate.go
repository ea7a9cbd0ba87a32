// Package minrate bounds the time that a client takes to send a request.
package minrate

import "time"

// BytesPerSecond is how much of a request has to arrive in a second, at least.
const BytesPerSecond = 8 << 10

// Deadline is until when more of a request has to arrive. It leaves a client time to be
// slower than BytesPerSecond for, at any point of the request and however fast the client
// was before: one that sends most of a large request at once and then drips is ended as
// soon as one that drips from the beginning.
type Deadline struct {
	slack time.Duration
	by    time.Time
}

// Begin returns the deadline of a request that begins now. It may be late by slack.
func Begin(now time.Time, slack time.Duration) Deadline { return Deadline{slack, now.Add(slack)} }

// Next returns the deadline for more of the request, of which so many bytes have arrived
// since Next was called last.
func (d *Deadline) Next(now time.Time, arrived int) time.Time {
	d.by = d.by.Add(time.Duration(arrived) * time.Second / BytesPerSecond)
	if latest := now.Add(d.slack); d.by.After(latest) {
		d.by = latest
	}
	return d.by
}
