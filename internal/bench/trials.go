package bench

import "slices"

// Trials lists them.
func Trials() []Trial {
	return []Trial{
		{"growth", "append --messages messages: does it become slower, and what does it cost? --restart: and a node " +
			"that restarts or is replaced", growth},
		{"shapes", "many short sessions against few long ones; listing and deleting them all while others append",
			shapes},
		{"ttl", "many sessions that expire within --window, while others append", expiry},
	}
}

// FindTrial returns the trial of a name.
func FindTrial(name string) (Trial, bool) {
	i := slices.IndexFunc(Trials(), func(t Trial) bool { return t.Name == name })
	if i < 0 {
		return Trial{}, false
	}
	return Trials()[i], true
}
