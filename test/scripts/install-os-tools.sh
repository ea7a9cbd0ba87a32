#!/usr/bin/env bash
# Installs what the tests of packages need, as root on Debian: systemd, which they start in namespaces, and the
# tools that make these; groff, which reads man pages; what docs/operations/first-cluster.md uses.
set -euo pipefail
missing=
for tool in systemctl:systemd systemd-analyze:systemd ip:iproute2 unshare:util-linux nsenter:util-linux groff:groff \
	curl:curl promtool:prometheus; do
	command -v "${tool%%:*}" >/dev/null || missing="$missing ${tool##*:}"
done
if [[ -z $missing ]]; then
	exit 0
fi
if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
	echo "$missing: missing, and cannot be installed here" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list
apt-get install -y -qq --no-install-recommends $missing >/dev/null
