package main

import (
	"slices"
	"strings"

	"github.com/turnlog/turnlog/cluster-test/nemesis"
)

func allFaults() []string {
	var out []string
	for _, f := range nemesis.All() {
		if !f.Open {
			out = append(out, f.Name)
		}
	}
	return out
}

func damages() []string {
	var out []string
	for _, name := range allFaults() {
		kind, _, _ := strings.Cut(name, "-")
		if slices.Contains([]string{"flip", "lost", "rot", "old"}, kind) && name != "lost-replies" {
			out = append(out, name)
		}
	}
	return out
}
