package main

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSlower: what grew beyond the ratio is reported, unless it may be noise; bytes are not.
func TestSlower(t *testing.T) {
	table, err := os.ReadFile("testdata/benchstat.csv")
	if err != nil {
		t.Fatal(err)
	}
	appended := change{"Wal/Append-2", "sec/op", 1.2}
	got := change{"Wal/Get-2", "sec/op", 1.02}
	allocated := change{"Wal/Get-2", "allocs/op", math.Inf(1)}
	for ratio, want := range map[float64][]change{
		1.01: {appended, got, allocated},
		1.03: {appended, allocated},
		1.30: {allocated},
	} {
		found, err := slower(string(table), ratio)
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			found[i].ratio = math.Round(found[i].ratio*1000) / 1000
		}
		if !slices.Equal(found, want) {
			t.Errorf("beyond %v: %v, want %v", ratio, found, want)
		}
	}
}

// TestNothingCompared: a gate that compares nothing does not pass.
func TestNothingCompared(t *testing.T) {
	for _, table := range []string{"", ",before,,after,,,\n,sec/op,CI,sec/op,CI,vs base,P\nWal/Gone-2,1.02e-07,1%\n"} {
		if _, err := slower(table, 1.03); err == nil || !strings.Contains(err.Error(), "no benchmark in common") {
			t.Errorf("%q: %v", table, err)
		}
	}
}

// TestPackagesThatMoved have the same names of benchmarks in both trees.
func TestPackagesThatMoved(t *testing.T) {
	const rest = "-2 \t 100\t 100 ns/op\n"
	for _, name := range []string{"m/codec", "m/internal/codec"} {
		got := withoutPackage([]byte("goos: linux\npkg: " + name + "\ncpu: x\nBenchmarkEntry/one" + rest + "PASS\n"))
		if want := "goos: linux\ncpu: x\nBenchmarkCodec/Entry/one" + rest + "PASS\n"; string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestHotPathExists: the gate's packages have benchmarks of these names.
func TestHotPathExists(t *testing.T) {
	for _, s := range hotPath {
		if _, err := os.Stat("../../" + s.dirs[0]); err != nil {
			t.Error(err)
		}
	}
}
