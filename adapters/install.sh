#!/usr/bin/env bash
# Installs the libraries whose histories adapters/compare.py holds to the contract,
# into bin/venv and bin/node.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ! -x bin/venv/bin/python ]]; then
	python3 -m venv bin/venv
fi
bin/venv/bin/pip install --quiet langchain-core langchain-community greenlet redis openai-agents

mkdir -p bin/node
cp adapters/typescript/turnlog_contract.ts bin/node/
if command -v npm >/dev/null; then
	npm install --silent --no-fund --no-audit --prefix bin/node tsx @langchain/core
fi
