#!/usr/bin/env bash
# Packs the packages for other languages than Go into dist, as they are published.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p ../dist

typescript() {
	typescript/check.sh --build
	npm pack --silent ./typescript --pack-destination ../dist
}

python() {
	python/install.sh
	../bin/sdk-python/bin/python -m build --no-isolation --outdir ../dist python
}

if (($# == 0)); then
	set -- typescript python
fi
for package; do
	"$package"
done
