package store

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// residentPages returns how many pages of mapped files this process has in its
// page tables. They count as its resident memory, although they are the kernel's
// file cache, which it can take back at any time.
func residentPages() (int, error) {
	b, err := os.ReadFile("/proc/self/statm") // size resident shared …, in pages
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(b)
	if len(fields) < 3 {
		return 0, fmt.Errorf("/proc/self/statm has %d fields", len(fields))
	}
	return strconv.Atoi(string(fields[2]))
}

// releaseMapped takes the pages of a mapped file out of this process's page
// tables. They stay in the file cache, and come back at the next access.
func releaseMapped(path string) error {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// from-to permissions offset device inode path
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[5] != path {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("/proc/self/maps has the range %q", fields[0])
		}
		// The mapping is read-only and shared with the file: nothing can be lost.
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start),
			unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
	}
	return lines.Err()
}
