#!/usr/bin/env bash
# Installs what the tests run besides Go: redis-server, against which the Redis
# listener is compared, and it and PostgreSQL, which the contract suite is held
# against; and versitygw, the object store of tests of backups, built into bin. Without them, and without the right to
# install them, those tests are skipped, and say so; with TURNLOG_REQUIRE_DEPS=1 they fail.
set -euo pipefail

cd "$(dirname "$0")/../.."
if [[ ! -x bin/versitygw ]]; then
	go -C test/s3server build -o ../../bin/versitygw github.com/versity/versitygw/cmd/versitygw ||
		echo "versitygw cannot be built here; the tests that need it will be skipped" >&2
fi

missing=()
command -v redis-server >/dev/null || missing+=(redis-server)
command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
if ((${#missing[@]} == 0)); then
	exit 0
fi
if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
	echo "missing, and cannot be installed here: ${missing[*]}; the tests that need them will be skipped" >&2
	exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
