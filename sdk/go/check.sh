#!/usr/bin/env bash
# Vets and tests the modules in sdk/go, and the one in test/compat that drives them, each by itself: those
# named by the arguments, by default all. "short" before the names leaves out what takes long.
set -euo pipefail
cd "$(dirname "$0")"
short=()
if [ "${1:-}" = short ]; then
	short=(-short)
	shift
fi
[ $# -gt 0 ] || set -- */ ../../test/compat/golang/adapters
for module in "$@"; do
	module=${module%/}
	echo "sdk/go/$module"
	# What go.mod lacks would be added silently otherwise.
	(cd "$module" && export GOFLAGS="${GOFLAGS:--buildvcs=false} -mod=readonly" &&
		"${GO:-go}" mod tidy -diff && "${GO:-go}" vet ./... && "${GO:-go}" test -timeout 10m "${short[@]}" ./...)
done
