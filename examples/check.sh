#!/usr/bin/env bash
# Runs the tests of the examples, or of those named, against the binary in bin:
#
#	examples/check.sh [--one | langgraph | openai-agents-python | openai-agents | ai-sdk] …
#
# --one: of one of them, another each day.
set -euo pipefail
cd "$(dirname "$0")"

wanted=${*:-langgraph openai-agents-python openai-agents ai-sdk}
if [[ $wanted == --one ]]; then
	all=(langgraph openai-agents-python openai-agents ai-sdk)
	wanted=${all[$(($(date +%s) / 86400 % ${#all[@]}))]}
	echo "today's example: $wanted"
fi
../sdk/python/install.sh
if [[ $wanted != langgraph && $wanted != openai-agents-python ]]; then
	../sdk/typescript/check.sh --build
	./install.sh
fi
EXAMPLES=$wanted PYTHONPATH=../sdk/python/src exec ../bin/sdk-python/bin/python -m pytest -q -p no:cacheprovider test_agents.py
