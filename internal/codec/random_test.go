package codec

import (
	oldrand "math/rand"
	"math/rand/v2"
)

// source gives a math/rand/v2 generator to testing/quick, which knows only the
// old package.
func source(r *rand.Rand) *oldrand.Rand { return oldrand.New(adapter{r}) }

type adapter struct{ r *rand.Rand }

func (a adapter) Int63() int64 { return int64(a.r.Uint64() >> 1) }
func (adapter) Seed(int64)     {}
