#!/usr/bin/env bash
# Installs what the tests run besides Go: redis-server, against which the Redis
# door is compared. Without it, and without the right to install it, those tests
# are skipped, and say so.
set -euo pipefail

if command -v redis-server >/dev/null; then
	exit 0
fi
if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
	echo "redis-server is missing and cannot be installed here: the tests that compare with it will be skipped" >&2
	exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends redis-server >/dev/null
