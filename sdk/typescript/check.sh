#!/usr/bin/env bash
# Builds the TypeScript package and runs its tests, or those named, against the binary in bin:
#
#	sdk/typescript/check.sh [--runtimes] [session failover …]
#	sdk/typescript/check.sh --build
#
# --build builds the package only; --runtimes runs the tests on Deno and Bun instead of Node.js. What
# is needed is installed from lock files, unless it is there already.
set -euo pipefail
cd "$(dirname "$0")"
bin=$(cd ../.. && pwd)/bin

fail() {
	echo "sdk/typescript/check.sh: $*" >&2
	exit 1
}

# install DIRECTORY PACKAGE-LOCK OPTION…: what the lock file names, unless it is installed already.
install() {
	cmp -s "$2" "$1/node_modules/.installed" && return
	echo "installing ${2#"$PWD"/}" >&2
	npm ci --prefix "$1" --silent --no-fund --no-audit "${@:3}" || fail "npm cannot install $2: is its registry reachable?"
	cp "$2" "$1/node_modules/.installed"
}

# isolated NAME: installs test/NAME/package-lock.json into bin/NAME.
isolated() {
	mkdir -p "$bin/$1"
	cp "test/$1/package.json" "test/$1/package-lock.json" "$bin/$1/"
	install "$bin/$1" "test/$1/package-lock.json"
}

recent() { node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)'; }

if ! command -v npm >/dev/null; then
	[[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || fail "needed, and cannot be installed here: Node.js and npm"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
fi
if ! recent; then # as on Debian 12
	isolated node
	for dir in "$bin"/node/node_modules/node-*/bin; do PATH=$dir:$PATH; done
	recent || fail "Node.js 20 or later is needed, and there is none for this machine in test/node"
fi
install . package-lock.json
npx --no-install prettier --check --log-level warn .
npm run --silent build
[[ ${1:-} != --build ]] || exit 0
rm -rf build
npx --no-install tsc -p tsconfig.test.json

runtimes=
if [[ ${1:-} == --runtimes ]]; then
	runtimes=1
	shift
fi
if (($# == 0)); then
	[[ -z $runtimes ]] || fail "--runtimes needs the names of tests"
	exec node --test build/test/*.test.js
fi
tests=("${@/#/./build/test/}")
tests=("${tests[@]/%/.test.js}")
if [[ -z $runtimes ]]; then
	exec node --test "${tests[@]}"
fi
isolated runtimes
"$bin/runtimes/node_modules/.bin/bun" test "${tests[@]}"
exec "$bin/runtimes/node_modules/.bin/deno" test --allow-all --no-check --node-modules-dir=manual "${tests[@]}"
