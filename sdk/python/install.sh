#!/usr/bin/env bash
# Installs what the tests of this package need, and what builds it, into bin/sdk-python; or with the
# argument crewai, for its adapter, into bin/sdk-python-crewai: CrewAI needs older versions of what other
# frameworks need, and a gigabyte. What is installed already is left alone. A package index that cannot be
# reached is a failure.
set -euo pipefail
cd "$(dirname "$0")"
requirements=requirements-${1:-test}.txt
venv=$(cd ../.. && pwd)/bin/sdk-python${1:+-$1}

if ! python3 -c 'import venv, ensurepip' 2>/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null
fi
if [[ -f $venv/.installed ]] && cmp -s "$requirements" "$venv/.installed"; then
	exit 0
fi
echo "installing sdk/python/$requirements" >&2
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
cp "$requirements" "$venv/.installed"
