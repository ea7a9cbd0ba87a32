#!/usr/bin/env bash
# Runs an example against the nodes of `make run`, after installing what it needs:
#
#	examples/run.sh langgraph | openai-agents-python | openai-agents | ai-sdk [CONVERSATION]
#
# Type questions, such as: Where is order 7? TURNLOG_ADDR names other nodes.
set -euo pipefail
cd "$(dirname "$0")"
addresses=${TURNLOG_ADDR:-127.0.0.1:7379,127.0.0.1:7389,127.0.0.1:7399}

case ${1:-} in
langgraph | openai-agents-python)
	program=python/langgraph_agent.py
	[[ $1 == langgraph ]] || program=python/openai_agents.py
	../sdk/python/install.sh
	PYTHONPATH=../sdk/python/src exec ../bin/sdk-python/bin/python "$program" "$addresses" "${2:-alice}"
	;;
openai-agents | ai-sdk)
	../sdk/typescript/check.sh --build
	./install.sh
	exec node "typescript/$1.mjs" "$addresses" "${2:-alice}"
	;;
*)
	sed -n 's/^#\t*//p' "$0" | sed 1d
	exit 2
	;;
esac
