#!/usr/bin/env bash
# Builds the Java artifact and runs its tests against the binary in bin. "short" leaves out the contract
# suite. Further arguments are Maven's, such as -Dspring-ai=2.0.0.
#
#	sdk/java/check.sh --pack DIRECTORY
#
# writes the artifact, its sources and their documentation to a directory that is a repository of Maven.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
	if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
		echo "sdk/java/check.sh: needed, and cannot be installed here: Maven and a JDK of version 17 or later" >&2
		exit 1
	fi
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends maven default-jdk-headless >/dev/null
fi
if [ "${1:-}" = --pack ]; then
	built=$(mktemp -d) # of its own, so that nothing is packed that an earlier build left
	trap 'rm -rf "$built"' EXIT
	mvn --batch-mode --no-transfer-progress --quiet -Ppublish -Dmaven.test.skip -Dtarget="$built" \
		-DaltDeploymentRepository="packages::file://$2" deploy
	exit
fi
left_out=none
if [ "${1:-}" = short ]; then
	left_out=long
	shift
fi
mvn --batch-mode --no-transfer-progress -Dleft-out="$left_out" "$@" verify
