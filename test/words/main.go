// Words checks that the repository uses the vocabulary of its field. It looks for words that were
// replaced, in identifiers, comments, strings, documents and file names, and says what to use.
//
//	go run ./test/words            fails if a replaced word is back in a directory that is done
//	go run ./test/words --count    prints how often each directory uses them
//	go run ./test/words --totals D prints how often each is used below a directory D, as a file tree
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

func main() {
	count := flag.Bool("count", false, "print how often each directory uses replaced words; always succeeds")
	totals := flag.String("totals", "", "print how often each replaced word is used below this directory")
	flag.Parse()
	if *totals != "" {
		if err := printTotals(*totals); err != nil {
			fmt.Fprintln(os.Stderr, "words:", err)
			os.Exit(1)
		}
		return
	}
	files, err := tracked()
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	found, err := search(files)
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	if *count {
		printCounts(found)
		return
	}
	failed := false
	for _, f := range found {
		if !pending(path.Dir(f.file)) && !stays(f) {
			failed = true
			fmt.Printf("%s:%d: %q: use %s\n", f.file, f.line, f.word, replaced[f.word].instead)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// tracked lists the files to check: all that git knows, or would add, and that exist.
func tracked() ([]string, error) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var files []string
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if _, err := os.Stat(name); err == nil && readable(name) {
			files = append(files, name)
		}
	}
	return files, nil
}

func search(files []string) ([]finding, error) {
	var found []finding
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found = append(found, inFile(name, text)...)
	}
	return found, nil
}

// printCounts prints one line per directory: its findings in total, and the words by frequency.
func printCounts(found []finding) {
	byDir := map[string]map[string]int{}
	for _, f := range found {
		dir := path.Dir(f.file)
		if byDir[dir] == nil {
			byDir[dir] = map[string]int{}
		}
		byDir[dir][f.word]++
	}
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		words := byDir[dir]
		names := slices.SortedFunc(maps.Keys(words), func(a, b string) int {
			if d := words[b] - words[a]; d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		total, list := 0, ""
		for _, w := range names {
			total += words[w]
			list += fmt.Sprintf(" %s:%d", w, words[w])
		}
		fmt.Printf("%5d %-28s%s\n", total, dir, list)
	}
	fmt.Printf("%5d in all\n", len(found))
}
