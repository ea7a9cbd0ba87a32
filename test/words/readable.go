package main

import (
	"path"
	"strings"
)

// readable says whether people read the file as text, and whether this check has a say in it.
func readable(name string) bool {
	if strings.HasPrefix(name, "test/words/") || name == "LICENSE" || name == "docs/figures.md" { // which counts them
		return false
	}
	switch path.Ext(name) {
	case ".go", ".md", ".yaml", ".yml", ".sh", ".py", ".ts", ".js", ".tcl", ".java":
		return true
	}
	return path.Base(name) == "Makefile"
}
