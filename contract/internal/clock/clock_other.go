//go:build !linux && !darwin

package clock

import "time"

// Now is nanoseconds of a clock that all processes of this machine share.
func Now() int64 { return time.Now().UnixNano() }
