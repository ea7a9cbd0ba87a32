#!/usr/bin/env bash
# Installs what the examples in TypeScript need, from package-lock.json, unless it is there already.
set -euo pipefail
cd "$(dirname "$0")/typescript"
cmp -s package-lock.json node_modules/.installed && exit
echo "installing examples/typescript/package-lock.json" >&2
npm ci --silent --no-fund --no-audit
cp package-lock.json node_modules/.installed
