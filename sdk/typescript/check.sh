#!/usr/bin/env bash
# Builds the TypeScript package and runs its tests, or those named, against the binary in bin:
#
#	sdk/typescript/check.sh [session failover …]
#
# What it needs is installed from package-lock.json, unless it is there already.
set -euo pipefail
cd "$(dirname "$0")"

fail() {
	echo "sdk/typescript/check.sh: $*" >&2
	exit 1
}

if ! command -v npm >/dev/null; then
	[[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || fail "needed, and cannot be installed here: Node.js and npm"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
fi
if ! cmp -s package-lock.json node_modules/.installed; then
	echo "installing sdk/typescript/package-lock.json" >&2
	npm ci --silent --no-fund --no-audit || fail "npm cannot install package-lock.json: is its registry reachable?"
	cp package-lock.json node_modules/.installed
fi
npx --no-install prettier --check --log-level warn .
npm run --silent build
[[ ${1:-} != --build ]] || exit 0
rm -rf build
npx --no-install tsc -p tsconfig.test.json
if (($# == 0)); then
	exec node --test build/test/*.test.js
fi
tests=("${@/#/build/test/}")
exec node --test "${tests[@]/%/.test.js}"
