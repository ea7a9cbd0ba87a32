#!/usr/bin/env bash
# Installs the libraries whose histories are held to the contract into bin/venv:
# those that `make contract-adapters` needs, or with --all those of `make compare`,
# for which it also fills bin/node.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! python3 -c 'import ensurepip' 2>/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	DEBIAN_FRONTEND=noninteractive
	export DEBIAN_FRONTEND
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
fi

wanted=test/adapters/requirements.txt
if [[ ${1:-} == --all ]]; then
	wanted=test/adapters/requirements-compare.txt
fi
if [[ ! -x bin/venv/bin/python ]]; then
	python3 -m venv bin/venv
fi
bin/venv/bin/pip install --quiet --disable-pip-version-check -r "$wanted"

if [[ ${1:-} == --all ]]; then
	mkdir -p bin/node
	cp test/adapters/typescript/* bin/node/
	npm install --silent --no-fund --no-audit --prefix bin/node
fi
