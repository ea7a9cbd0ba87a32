#!/usr/bin/env bash
# Runs the short tests of the packages that a branch changes, committed or not, compared with
# BASE (default: main). Without such a commit, or without changes, it runs all short tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
GO="${GO:-go}"

changed_packages() {
	local base
	base="$(git merge-base HEAD "${BASE:-main}" 2>/dev/null)" || return 0
	{
		git diff --name-only "$base"
		git ls-files --others --exclude-standard
	} | while read -r file; do
		case "$file" in
		*/testdata/*) dir="${file%%/testdata/*}" ;;
		*) dir="$(dirname "$file")" ;;
		esac
		if compgen -G "$dir/*.go" >/dev/null; then echo "./$dir"; fi
	done | sort -u | while read -r dir; do
		"$GO" list "$dir" 2>/dev/null || true # a module of its own is none of ours
	done
}

mapfile -t packages < <(changed_packages)
if [ "${#packages[@]}" = 0 ]; then
	packages=(./...)
fi
echo "tests of ${packages[*]}"
"$GO" test -short "${packages[@]}"
# Mutants quote the source, and documents name it.
"$GO" test -run 'TestTables|TestTableOfArchitecture' ./cluster-test/... ./test/where
