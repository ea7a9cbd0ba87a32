package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// versionFile is the one source of the version of packages and of the binary in them. Package managers
// want it in files of their own, which --set-version writes, too.
const versionFile = "VERSION"

// A versionPlace is where a package has the version: the first group of its pattern.
type versionPlace struct {
	file    string
	pattern *regexp.Regexp
	form    func(version string) string
}

var (
	npmVersion = regexp.MustCompile(`(?m)^  "version": "([^"]+)"`)
	inLock     = regexp.MustCompile(`(?m)^    "": \{\n      "name": "turnlog",\n      "version": "([^"]+)"`)
)

func versionPlaces() []versionPlace {
	same := func(v string) string { return v }
	pyproject := "sdk/python/pyproject.toml"
	artifact := regexp.MustCompile(`<artifactId>turnlog-memory</artifactId>\n +<version>([^<]+)<`)
	return []versionPlace{
		{versionFile, regexp.MustCompile(`^(.+)\n$`), same},
		{"sdk/typescript/package.json", npmVersion, same},
		{"sdk/typescript/package-lock.json", npmVersion, same},
		{"sdk/typescript/package-lock.json", inLock, same},
		{pyproject, regexp.MustCompile(`(?m)^version = "([^"]+)"`), pythonVersion},
		{pyproject, regexp.MustCompile(`"turnlog-server==([^;" ]+)`), pythonVersion},
		{"sdk/java/pom.xml", artifact, mavenVersion},
		{"docs/java.md", artifact, mavenVersion},
	}
}

// pythonVersion writes a version as Python does: 0.1.0-rc.1 is 0.1.0rc1, and 0.1.0-dev.0 is 0.1.0.dev0.
func pythonVersion(version string) string {
	release, pre, ok := strings.Cut(version, "-")
	if !ok {
		return release
	}
	pre = strings.NewReplacer("alpha", "a", "beta", "b", "dev", ".dev").Replace(strings.ReplaceAll(pre, ".", ""))
	return release + pre
}

// mavenVersion writes a version as Maven does: what is developed is a snapshot, which comes before all else
// of its release. Maven takes any other word that it does not know, such as dev, for later than the release.
func mavenVersion(version string) string {
	release, _, dev := strings.Cut(version, "-dev.")
	if dev {
		return release + "-SNAPSHOT"
	}
	return version
}

// setVersion writes the version into every file that has it.
func setVersion(root, version string) error {
	if !regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-(dev|alpha|beta|rc)\.[0-9]+)?$`).MatchString(version) {
		return fmt.Errorf("%q is no version: write it as 1.2.3, or as 1.2.3-rc.1", version)
	}
	for _, place := range versionPlaces() {
		path := filepath.Join(root, place.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		at := place.pattern.FindSubmatchIndex(text)
		if at == nil {
			return fmt.Errorf("%s has no version: %s does not match", place.file, place.pattern)
		}
		changed := string(text[:at[2]]) + place.form(version) + string(text[at[3]:])
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// numbered is a version in which the v of a tag is missing, or is another letter's case.
var numbered = regexp.MustCompile(`^V?[0-9]+\.[0-9]+\.[0-9]+`)

// checkVersion rejects a release whose packages have another version than its tag, and one that is not called as its
// tag is: it would be built as a trial, with the notes of what is unreleased.
func checkVersion(root, version string) error {
	if numbered.MatchString(version) {
		return fmt.Errorf("%q is not how tags are written: write v%s", version, strings.TrimPrefix(version, "V"))
	}
	text, err := os.ReadFile(filepath.Join(root, versionFile))
	if err != nil {
		return err
	}
	packages := strings.TrimSpace(string(text))
	if released.MatchString(version) && version != "v"+packages && packages != "" {
		return fmt.Errorf("the packages are at %s: go run ./test/release --set-version %s, commit, and tag that",
			packages, strings.TrimPrefix(version, "v"))
	}
	return nil
}
