package main

import (
	"fmt"
	"regexp"
	"strings"
)

var released = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?$`)

// notesOf returns a version's section of the changelog. Only a released version must have its own; any
// other, as that of a trial, gets what is unreleased.
func notesOf(changelog, version string) (string, error) {
	wanted := "Unreleased"
	if released.MatchString(version) {
		wanted = strings.TrimPrefix(version, "v")
	}
	_, rest, ok := strings.Cut("\n"+changelog, "\n## ["+wanted+"]")
	if !ok {
		return "", fmt.Errorf("CHANGELOG.md has no section [%s]", wanted)
	}
	_, rest, _ = strings.Cut(rest, "\n") // the date
	body, _, _ := strings.Cut(rest, "\n## ")
	if body = strings.TrimSpace(body); body == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing of [%s]", wanted)
	}
	return "# turnlog " + version + "\n\n" + body + "\n", nil
}
