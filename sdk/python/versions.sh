#!/usr/bin/env bash
# Runs the tests of the clients with the wheel installed in other versions of Python than that of the other tests:
# those named, such as python3.10, or each that is found, with pyenv or without:
#
#	sdk/python/versions.sh [PYTHON] …
#
# The frameworks are left out: most have no version for each Python.
set -euo pipefail
cd "$(dirname "$0")/../.."

found=("$@")
if (($# == 0)); then
	for minor in 10 11 12 13 14; do
		for python in "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/python "$(command -v "python3.$minor" || true)"; do
			if [[ -x $python ]] && "$python" -c 'import sys; sys.exit(sys.version_info[1] != int(sys.argv[1]))' $minor 2>/dev/null; then
				found+=("$python")
				break
			fi
		done
	done
fi
sdk/python/install.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin/sdk-python/bin/python -m build --no-isolation --wheel --outdir "$work" sdk/python >/dev/null
tests=()
for name in clients_page contract faults hash interrupts memory secure session tail tracing transaction; do
	[[ -f sdk/python/tests/test_$name.py ]] && tests+=("sdk/python/tests/test_$name.py")
done
grep -E '^(redis|hiredis|pytest|pytest-asyncio|opentelemetry-sdk)==' sdk/python/requirements-test.txt >"$work/requirements.txt"
for python in "${found[@]}"; do
	"$python" --version
	rm -rf "$work/venv"
	"$python" -m venv "$work/venv"
	"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r "$work/requirements.txt"
	"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$work"/turnlog-*.whl
	"$work/venv/bin/pytest" -q -p no:cacheprovider -c sdk/python/pyproject.toml -o pythonpath= -m 'not slow' "${tests[@]}"
done
