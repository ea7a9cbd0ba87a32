#!/bin/sh
# usage: test/scripts/fuzz.sh TIME [PACKAGE…]
# Fuzzes each target of the packages that read what strangers send, for so long, one
# after the other. What is found is in PACKAGE/testdata/fuzz, as a case that `make
# test` runs from then on.
set -eu
time=$1
shift
[ $# -gt 0 ] || set -- ./internal/resp ./internal/server/redis ./internal/server/redis/command ./internal/server/redis/glob ./internal/toolcalls ./internal/server/httpapi ./internal/peer ./internal/codec ./internal/requests ./raftstore
for package in "$@"; do
	for target in $(${GO:-go} test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $target"
		${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel "${PARALLEL:-2}" "$package"
	done
done
