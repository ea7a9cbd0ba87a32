//go:build !linux && !darwin

package contract

import "time"

// now is nanoseconds of a clock that all processes of this machine share.
func now() int64 { return time.Now().UnixNano() }
