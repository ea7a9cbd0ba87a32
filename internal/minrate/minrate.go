// Package minrate bounds the time that a client may take to send a request, or to read a long answer, by a minimum
// rate.
//
// Being fast earns no credit: a client may be late by a fixed slack at any point, however fast it was before, so that
// one that sends most of a large request and then drips is cut off as soon as one that drips from the start. A Deadline
// belongs to the goroutine that reads or writes.
package minrate

import "time"

// BytesPerSecond is how much of a request has to arrive in a second, at least.
const BytesPerSecond = 8 << 10

// BackupBytesPerSecond is how much of a backup a client has to take in a second, at least: while it is read, its
// node keeps what changes, and gives no other one.
const BackupBytesPerSecond = 1 << 20

// Deadline is until when more of a request has to arrive. It leaves a client time to be
// slower than the rate for, at any point of the request and however fast the client
// was before: one that sends most of a large request at once and then drips is ended as
// soon as one that drips from the beginning.
type Deadline struct {
	slack time.Duration
	rate  time.Duration // bytes in a second
	by    time.Time
}

// Begin returns the deadline of a request that begins now, at BytesPerSecond. It may be late by slack.
func Begin(now time.Time, slack time.Duration) Deadline { return BeginAt(now, slack, BytesPerSecond) }

// BeginAt is Begin at another rate, in bytes a second.
func BeginAt(now time.Time, slack time.Duration, rate int) Deadline {
	return Deadline{slack, time.Duration(rate), now.Add(slack)}
}

// Excuse takes time that passed off the client's: the other side needed it.
func (d *Deadline) Excuse(passed time.Duration) { d.by = d.by.Add(passed) }

// Next returns the deadline for more of the request, of which so many bytes have arrived
// since Next was called last.
func (d *Deadline) Next(now time.Time, arrived int) time.Time {
	d.by = d.by.Add(time.Duration(arrived) * time.Second / d.rate)
	if latest := now.Add(d.slack); d.by.After(latest) {
		d.by = latest
	}
	return d.by
}
