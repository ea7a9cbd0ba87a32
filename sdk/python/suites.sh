#!/usr/bin/env bash
# Runs the tests that frameworks publish, on turnlog's adapters for them; or those named; or of one, another each
# day:
#
#	sdk/python/suites.sh [--one | openai_agents | strands | langchain] …
#
# That of LangGraph is part of every run of the package's tests, that of CrewAI of `make sdk-python-crewai`.
set -euo pipefail
cd "$(dirname "$0")/../.."

all=(openai_agents strands langchain)
wanted=("$@")
if [[ ${1:-} == --one ]]; then
	wanted=("${all[$(($(date +%s) / 86400 % ${#all[@]}))]}")
	echo "today's suite: ${wanted[*]}"
elif (($# == 0)); then
	wanted=("${all[@]}")
fi
sdk/python/install.sh
tests=("${wanted[@]/#/sdk/python/tests/test_}")
tests=("${tests[@]/%/_upstream.py}")
exec bin/sdk-python/bin/pytest -q -c sdk/python/pyproject.toml "${tests[@]}"
