package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A change is how many times its former cost a benchmark has.
type change struct {
	name, unit string
	ratio      float64
}

// gated are the units that must not grow. Bytes vary with how buffers grow, so they are only shown.
var gated = []string{"sec/op", "allocs/op"}

// slower reads benchstat's CSV and returns what grew beyond the ratio. Benchstat writes "~" where a
// difference is not significant.
func slower(table string, ratio float64) (found []change, err error) {
	r := csv.NewReader(strings.NewReader(table))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("what benchstat said: %w", err)
	}
	unit, compared := "", 0
	for _, row := range rows {
		if len(row) < 6 {
			continue // keys of the configuration, or a benchmark of one tree only
		}
		if row[0] == "" { // a heading
			unit = row[1]
			continue
		}
		if row[0] == "geomean" || row[1] == "" || row[3] == "" {
			continue
		}
		compared++
		before, err1 := strconv.ParseFloat(row[1], 64)
		after, err2 := strconv.ParseFloat(row[3], 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("%s: %w", row[0], err)
		}
		if row[5] != "~" && after > before*ratio && slices.Contains(gated, unit) {
			found = append(found, change{row[0], unit, after / before})
		}
	}
	if compared == 0 {
		return nil, errors.New("the trees have no benchmark in common")
	}
	return found, nil
}

// withoutPackage drops the line with the package's name, since packages have moved between trees, and
// puts its last part in front of the benchmarks.
func withoutPackage(out []byte) []byte {
	var kept bytes.Buffer
	name := ""
	for line := range bytes.Lines(out) {
		if p, ok := bytes.CutPrefix(line, []byte("pkg: ")); ok {
			name = string(bytes.TrimSpace(p[bytes.LastIndexByte(p, '/')+1:]))
			continue
		}
		if b, ok := bytes.CutPrefix(line, []byte("Benchmark")); ok {
			kept.WriteString("Benchmark" + strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):] + "/")
			line = b
		}
		kept.Write(line)
	}
	return kept.Bytes()
}
