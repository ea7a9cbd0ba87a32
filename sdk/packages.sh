#!/usr/bin/env bash
# Packs the packages for other languages than Go into dist, as they are published.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p ../dist

typescript() {
	typescript/check.sh --build
	npm pack --silent ./typescript --pack-destination ../dist
}

for package in "${@:-typescript}"; do
	"$package"
done
