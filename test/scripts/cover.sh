#!/usr/bin/env bash
# usage: test/scripts/cover.sh [PACKAGE…]
# Prints how much of each package its own short tests run, the least first. Fails if a package of
# coverage.floors has less than is written there.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- ./...

"${GO:-go}" test -short -cover "$@" | awk '
	FILENAME != "-" { if ($1 !~ /^#/ && NF == 2) floor[$1] = $2; next }
	/^(FAIL|---)/ { print; failed = 1 }
	match($0, /coverage: [0-9.]+% of statements/) {
		name = $1 == "ok" ? $2 : $1
		sub(/^github.com\/turnlog\/turnlog\//, "", name)
		percent = substr($0, RSTART + 10) + 0
		printf "%5.1f %%  %s\n", percent, name | "sort -n"
		if (name in floor && percent < floor[name])
			low = low sprintf("%s: %.1f %% is less than %s %%, its floor\n", name, percent, floor[name])
	}
	END {
		close("sort -n")
		printf "%s", low
		exit failed || low != ""
	}' test/scripts/coverage.floors -
