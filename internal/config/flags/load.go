package flags

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Load completes the settings in fs, which has the flags of Register and no
// others; they have been parsed, by fs or by a set that they were added to:
// what the command line did not set comes from the environment, and what is
// not there from the YAML file (empty: no file). An unknown key in the file is
// an error that names its line.
func Load(fs *pflag.FlagSet, file string, getenv func(string) string) error {
	given := map[string]string{} // name to value, from the command line
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			given[f.Name] = f.Value.String()
		}
	})

	settings := map[string]string{}
	if file != "" {
		if err := readFile(fs, file, settings); err != nil {
			return err
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if v := getenv(EnvName(f.Name)); v != "" {
			settings[f.Name] = v
		}
	})
	for name, v := range given {
		settings[name] = v
	}
	for name, v := range settings {
		if err := fs.Lookup(name).Value.Set(v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// EnvName returns the environment variable of a setting.
func EnvName(setting string) string {
	return "TURNLOG_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

func readFile(fs *pflag.FlagSet, file string, into map[string]string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("configuration file: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("configuration file %s: %w", file, err)
	}
	if len(doc.Content) == 0 {
		return nil // an empty file
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("configuration file %s: must be a list of `setting: value` lines", file)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if fs.Lookup(key.Value) == nil {
			return fmt.Errorf("configuration file %s, line %d: unknown setting %q", file, key.Line, key.Value)
		}
		if _, twice := into[key.Value]; twice {
			return fmt.Errorf("configuration file %s, line %d: %s is given twice", file, key.Line, key.Value)
		}
		into[key.Value], err = scalar(value)
		if err != nil {
			return fmt.Errorf("configuration file %s, line %d: %s: %w", file, value.Line, key.Value, err)
		}
	}
	return nil
}

// scalar returns the text of a value; a mapping (as initial-cluster may be
// written) becomes "k=v,k=v".
func scalar(n *yaml.Node) (string, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value, nil
	case yaml.MappingNode:
		var pairs map[string]string
		if err := n.Decode(&pairs); err != nil {
			return "", err
		}
		parts := make([]string, 0, len(pairs))
		for k, v := range pairs {
			parts = append(parts, k+"="+v)
		}
		sort.Strings(parts)
		return strings.Join(parts, ","), nil
	}
	return "", fmt.Errorf("must be a single value or a mapping")
}
