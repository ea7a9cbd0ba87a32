package certs

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/descriptors/descriptorstest"
)

// Files that changed, and could not be opened since clients have all descriptors, are read later,
// without another change.
func TestCertificatesAreReadWhenThereIsADescriptor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := authorityIn(t)
		s := store(t, issue(t, dir, "a", Node, time.Hour), io.Discard)
		old := s.current()
		issue(t, dir, "a", Node, 48*time.Hour)
		descriptorstest.None(t, lookEvery+time.Second)
		time.Sleep(lookEvery)
		if s.current() != old {
			t.Error("files are read without a descriptor")
		}
		time.Sleep(lookEvery)
		if s.current() == old {
			t.Error("the new certificate is not read")
		}
	})
}
