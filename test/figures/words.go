package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// countWords asks test/words how often a tree uses words that were replaced.
func countWords(root string) (list []sized, err error) {
	out, err := exec.Command("go", "run", "github.com/turnlog/turnlog/test/words", "--totals", root).Output()
	if err != nil {
		return nil, fmt.Errorf("test/words: %w", said(err))
	}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		count, word, _ := strings.Cut(s.Text(), " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, fmt.Errorf("test/words said %q: %w", s.Text(), err)
		}
		list = append(list, sized{word, n})
	}
	return list, nil
}
