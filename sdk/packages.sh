#!/usr/bin/env bash
# Packs the packages for other languages than Go into dist, as they are published:
#
#	sdk/packages.sh [typescript | python | server | java] …
#
# java writes a repository of Maven, dist/maven, with the artifact, its sources and their documentation. server builds the binary of the version in VERSION for each of TARGETS, and packs each as a wheel and
# as an npm package; the packages for Python and TypeScript install the one for their platform.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p ../dist
dist=$(cd ../dist && pwd)
TARGETS=${TARGETS:-linux/amd64,linux/arm64,darwin/amd64,darwin/arm64}

typescript() {
	typescript/check.sh --build
	node typescript/pack.mjs "$dist"
}

python() {
	local venv=../bin/sdk-python-build
	[[ -x $venv/bin/pip ]] || python3 -m venv "$venv"
	grep -E '^(build|hatchling)==' python/requirements-test.txt |
		"$venv/bin/pip" install --quiet --disable-pip-version-check -r /dev/stdin
	"$venv/bin/python" -m build --no-isolation --outdir "$dist" python
}

server() {
	local version binaries target
	version=v$(<../VERSION)
	binaries=$(mktemp -d)
	# shellcheck disable=SC2064 # the directory of now
	trap "rm -rf '$binaries'" EXIT
	(cd .. && "${GO:-go}" run ./test/release --only-binaries --version "$version" --targets "$TARGETS" --out "$binaries/built")
	for target in ${TARGETS//,/ }; do
		python3 server/wheel.py "$binaries/built/turnlog-$version-${target/\//-}" "$target" "$dist"
		node server/npm.mjs "$binaries/built/turnlog-$version-${target/\//-}" "$target" "$dist"
	done
}

java() {
	rm -rf "$dist/maven" # a snapshot does not replace the one before
	java/check.sh --pack "$dist/maven"
}

if (($# == 0)); then
	set -- typescript python server java
fi
for package; do
	"$package"
done
