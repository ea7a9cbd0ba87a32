#!/usr/bin/env bash
# Installs Prometheus and promtool, which the tests of alerts need, as root on Debian.
set -euo pipefail
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
	exit 0
fi
if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
	echo "prometheus is missing, and cannot be installed here" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends prometheus >/dev/null
