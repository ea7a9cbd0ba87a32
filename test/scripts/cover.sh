#!/usr/bin/env bash
# usage: test/scripts/cover.sh [PACKAGE…|TREE/...]
# Prints how much of each package its own short tests run, the least first, and how much of each tree of
# coverage.floors (fsm/...) all short tests in it run. Fails if one has less than its floor there.
# A package below a tree has no line of its own: its tests may be those of the package that it serves.
set -euo pipefail
cd "$(dirname "$0")/../.."
go=${GO:-go}
floors=test/scripts/coverage.floors
trees=$(awk '$1 ~ /\/\.\.\.$/ { print $1 }' "$floors")
profile=$(mktemp)
trap 'rm -f "$profile"' EXIT

if [ $# -eq 0 ]; then
	below=$("$go" list $(printf './%s ' $trees))
	set -- $("$go" list ./... | grep -vxF "$below") $trees
fi
packages=()
for name; do
	case " $(echo $trees) " in
		*" ${name#./} "*) ;;
		*) packages+=("$name") ;;
	esac
done

{
	[ ${#packages[@]} -eq 0 ] || "$go" test -short -cover "${packages[@]}" || true
	for name; do
		case " $(echo $trees) " in *" ${name#./} "*) ;; *) continue ;; esac
		tree=${name#./}
		"$go" test -short -coverpkg="./$tree" -coverprofile="$profile" "./$tree" | grep -E '^(FAIL|---)' || true
		echo "$tree coverage: $("$go" tool cover -func="$profile" | awk 'END { print $3 }') of statements"
	done
} | awk '
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
	}' "$floors" -
