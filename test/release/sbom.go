package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
	"strings"
)

// A bom is the part of CycloneDX 1.6 that says which modules a binary consists of. It has no serial
// number and no time, which would differ each time.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// sbom lists the modules that the linker put into a binary, and the Go release that built it.
func sbom(file, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return describe(info, version)
}

func describe(info *debug.BuildInfo, version string) ([]byte, error) {
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{
		component{Type: "application", Name: info.Main.Path, Version: version, PURL: purl(info.Main.Path, version)}}}
	b.Components = append(b.Components, component{Type: "library", Name: "std",
		Version: strings.TrimPrefix(info.GoVersion, "go"), PURL: purl("std", strings.TrimPrefix(info.GoVersion, "go"))})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, component{Type: "library", Name: m.Path, Version: m.Version,
			PURL: purl(m.Path, m.Version), Hashes: hashes(m.Sum)})
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

// purl is a module's package URL; "+" of a version would be read as a space.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// hashes are go.sum's: the SHA-256 of the list of a module's files.
func hashes(sum string) []hash {
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil || len(data) == 0 {
		return nil
	}
	return []hash{{"SHA-256", hex.EncodeToString(data)}}
}
