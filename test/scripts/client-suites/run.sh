#!/usr/bin/env bash
# Runs the test suites of three Redis clients, unmodified, against a node of a fresh
# cluster of one, and compares with what is known to fail:
#
#	test/scripts/client-suites/run.sh [SUITE...]
#
# The suites are redis-py, go-redis and ioredis: by default those that can be had. The
# first two come from their package registries. The package of ioredis has no tests, so
# IOREDIS names a git repository or checkout of redis/ioredis with the tag below.
# SERVER=redis runs them against redis-server instead, for comparison: then nothing is
# known, and every failure is shown. KEEP names a folder for reports and output.
#
# go-redis and ioredis know their server by its port, 6379, so each suite runs in a
# network namespace of its own; this needs Linux and the right to make one.
#
# It ends with status 1 if a test fails that known.tsv does not explain, or if fewer
# pass than it demands.
set -euo pipefail

redis_py=8.1.0 go_redis=v9.23.0 ioredis=v6.0.0

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
into=$root/bin/client-suites
work=${KEEP:-$(mktemp -d)}
mkdir -p "$into" "$work"
[[ -n ${KEEP:-} ]] || trap 'rm -rf "$work"' EXIT

fail() {
	echo "client-suites: $*" >&2
	exit 2
}

# got DIRECTORY WHAT: whether it holds that already; mark says so.
got() { [[ -f $1/.got ]] && [[ $(<"$1/.got") == "$2" ]]; }
mark() { echo "$2" >"$1/.got"; }

get_redis-py() {
	local dir=$into/redis-py what
	what="$redis_py $(cksum <"$here/requirements.txt")"
	got "$dir" "$what" && return
	rm -rf "$dir" && mkdir -p "$dir"
	python3 -m venv "$dir/venv"
	"$dir/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" || fail "pip cannot install requirements.txt"
	"$dir/venv/bin/pip" install --quiet --disable-pip-version-check "redis==$redis_py" || fail "pip cannot install redis-py"
	"$dir/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: -d "$dir" "redis==$redis_py" || fail "pip cannot download redis-py's source"
	tar -C "$dir" -xzf "$dir/redis-$redis_py.tar.gz"
	mark "$dir" "$what"
}

get_go-redis() {
	local dir=$into/go-redis from
	got "$dir" "$go_redis" && return
	rm -rf "$dir" && mkdir -p "$dir"
	from=$(cd "$(mktemp -d)" && go mod download -json "github.com/redis/go-redis/v9@$go_redis" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	[[ -n $from ]] || fail "go cannot download go-redis"
	cp -r "$from/." "$dir" && chmod -R u+w "$dir"
	(cd "$dir" && go test -c -o suite.test .) || fail "go-redis's tests do not build"
	find "$dir" -name '*.go' -delete # make lint looks at all there are
	mark "$dir" "$go_redis"
}

get_ioredis() {
	local dir=$into/ioredis
	got "$dir" "$ioredis" && return
	[[ -n ${IOREDIS:-} ]] || fail "IOREDIS must name a git repository of redis/ioredis with the tag $ioredis"
	rm -rf "$dir" && mkdir -p "$dir"
	git -C "$IOREDIS" archive "$ioredis" lib test bin package.json package-lock.json tsconfig.json | tar -C "$dir" -x ||
		fail "$IOREDIS has no tag $ioredis"
	npm ci --prefix "$dir" --silent --ignore-scripts --no-fund --no-audit || fail "npm cannot install what ioredis's tests need"
	mark "$dir" "$ioredis"
}

# Each of these writes a report in JUnit's format to the file $1.

run_redis-py() {
	cd "$into/redis-py/redis-$redis_py"
	../venv/bin/python -m pytest -p no:cacheprovider --tb=line --redis-url redis://127.0.0.1:6379/0 --junitxml "$1" \
		-m "not redismod and not onlycluster and not ssl and not cp_integration and not replica and not multidb_integration" \
		tests/test_{commands,pipeline,pubsub,encoding,lock,scripting}.py
}

run_go-redis() {
	cd "$into/go-redis"
	local files=()
	for name in redis tx pipeline iterator pubsub commands; do
		files+=(-ginkgo.focus-file "^(.*/)?${name}_test.go")
	done
	# The first leaves out what starts servers of its own.
	RE_CLUSTER=true REDIS_VERSION=7.2 ./suite.test -test.run TestGinkgoSuite -ginkgo.no-color -ginkgo.junit-report "$1" "${files[@]}"
}

run_ioredis() {
	cd "$into/ioredis"
	# An error that is not handled may end the whole run, and tests of scripts leave some.
	TS_NODE_TRANSPILE_ONLY=true NODE_ENV=test npx mocha --no-experimental-strip-types --reporter xunit --reporter-option "output=$1" \
		--invert --grep "custom commands|parallel script|^scripting" \
		"test/helpers/*.ts" "test/functional/**/*.ts"
}

# within SUITE: what runs in the namespace.
within() {
	local data server
	ip link set lo up
	data=$(mktemp -d)
	if [[ ${SERVER:-turnlog} == redis ]]; then
		redis-server --port 6379 --save "" --dir "$data" >"$work/server.log" &
	else
		"${TURNLOG:-$root/bin/turnlog}" dev --nodes 1 --port-base 6379 --data-dir "$data/node" >"$work/server.log" 2>&1 &
	fi
	server=$!
	until (exec 3<>/dev/tcp/127.0.0.1/6379) 2>/dev/null; do
		kill -0 "$server" 2>/dev/null || { cat "$work/server.log" >&2; exit 2; }
		sleep 0.1
	done
	(timeout "${SUITE_TIMEOUT:-1800}" "$BASH" "${BASH_SOURCE[0]}" --run "$1" "$work/$1.xml") >"$work/$1.log" 2>&1 || true
	kill -INT "$server" && wait "$server" || true
	rm -rf "$data"
}

case ${1:-} in
--run)
	"run_$2" "$3"
	exit
	;;
--within)
	within "$2"
	exit
	;;
esac

unshare --net true 2>/dev/null || fail "a network namespace cannot be made here: run it as root on Linux"
suites=("$@")
if ((${#suites[@]} == 0)); then
	suites=(redis-py go-redis)
	if [[ -n ${IOREDIS:-} ]] || got "$into/ioredis" "$ioredis"; then
		suites+=(ioredis)
	else
		echo "client-suites: without ioredis, because IOREDIS names no repository of it" >&2
	fi
fi
status=0
for suite in "${suites[@]}"; do
	declare -F "get_$suite" >/dev/null || fail "no such suite: $suite"
	"get_$suite"
	rm -f "$work/$suite.xml"
	KEEP=$work unshare --net "$BASH" "${BASH_SOURCE[0]}" --within "$suite"
	[[ -s $work/$suite.xml ]] || { tail -20 "$work/$suite.log" >&2; fail "$suite wrote no report"; }
	"$here/compare.py" "$suite" "$work/$suite.xml" "${SERVER:-turnlog}" || status=1
done
exit $status
