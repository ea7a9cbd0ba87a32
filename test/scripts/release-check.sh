#!/usr/bin/env bash
# usage: test/scripts/release-check.sh [TARGETS]
# Builds the release of HEAD twice, in two directories and each time with an empty build cache, and
# compares all bytes. TARGETS: as linux/amd64,linux/arm64; default: this machine's platform.
set -euo pipefail
cd "$(dirname "$0")/../.."
go="${GO:-go}"
targets="${1:-$("$go" env GOOS)/$("$go" env GOARCH)}"

tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
for dir in one another/one; do
	mkdir -p "$tmp/$dir"
	git archive HEAD | tar -x -C "$tmp/$dir"
	(
		cd "$tmp/$dir"
		export GOCACHE="$tmp/cache-${dir%%/*}"
		"$go" run ./test/release --version v0.0.0-check --targets "$targets" --out dist
		rm -rf "$GOCACHE"
	)
done
diff -r "$tmp/one/dist" "$tmp/another/one/dist"
(cd "$tmp/one/dist" && sha256sum -c --quiet SHA256SUMS && cat SHA256SUMS)
echo "both builds have the same bytes"
