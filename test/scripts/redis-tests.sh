#!/usr/bin/env bash
# Runs the Redis project's own command tests against a node of a fresh cluster,
# from outside:
#
#   test/scripts/redis-tests.sh [--one | UNIT...]
#
# Without units, those of the commands that turnlog has are run; --one runs one of
# them, another each day. The tests come with the source of Redis 7.0.15, which
# Debian 12 has as a package; elsewhere TESTS names a checkout of the redis/redis
# repository. They write into its folder tests/tmp. Needs tclsh, and bin/turnlog
# (TURNLOG names another); PORT and NODES choose the cluster, KEEP a folder for the
# whole output.
#
# Prints a table, and every failure that test/scripts/redis-tests.known does not
# explain. Ends with status 1 if there is one, or if the table in docs/redis.md says
# something else. As tests depend on delays of a tenth of a second, a unit that fails
# is run a second time.
set -euo pipefail

version=7.0.15 sum=4b1dc4ee6d622a09fff9c6777191209750fb5e5a725ef78ea012d6eef4c22982

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
units=("$@")
all=(
	type/string type/incr type/list type/list-2 type/list-3 type/hash type/set type/zset type/stream
	keyspace scan expire multi protocol quit pubsub other
)
if [[ ${1:-} == --one ]]; then
	units=("${all[$(($(date +%s) / 86400 % ${#all[@]}))]}")
	echo "today's unit: ${units[*]}"
elif (($# == 0)); then
	units=("${all[@]}")
fi
# What cannot be asked of a server from outside, or is no question of commands.
deny="-needs:debug -needs:repl -needs:save -needs:config-maxmemory -external:skip -cluster -slow -large-memory"

fail() {
	echo "redis-tests: $*" >&2
	exit 2
}

# get DIRECTORY: the source, by apt with lists of its own, as those of the machine
# seldom name sources.
get() {
	local dir=$1 apt
	command -v apt-get >/dev/null || fail "there is no apt-get to download Redis's source; TESTS must name a checkout of redis/redis"
	rm -rf "$dir"
	mkdir -p "$dir/apt/parts" "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
	sed 's/^deb /deb-src /' /etc/apt/sources.list 2>/dev/null | grep '^deb-src ' >"$dir/apt/parts/own.list" || true
	[[ ! -f /etc/apt/sources.list.d/debian.sources ]] ||
		sed 's/^Types: .*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$dir/apt/parts/own.sources"
	apt=(
		apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$dir/apt/parts"
		-o "Dir::State::lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache"
	)
	"${apt[@]}" update && (cd "$dir" && "${apt[@]}" source --tar-only redis >/dev/null) || fail "apt-get cannot download Redis's source"
	sha256sum --quiet --check <<<"$sum  $dir/redis_$version.orig.tar.gz" ||
		fail "this system has another version of Redis than $version; TESTS must name a checkout of redis/redis"
	tar -C "$dir" --strip-components 1 -xzf "$dir/redis_$version.orig.tar.gz"
	rm -r "$dir/apt" "$dir"/*.tar.gz
	touch "$dir/.got"
}

if ! command -v tclsh >/dev/null; then
	[[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || fail "tclsh is missing: apt-get install tcl"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends tcl >/dev/null
fi
checkout=${TESTS:-$root/bin/redis-$version}
[[ -n ${TESTS:-} || -f $checkout/.got ]] || get "$checkout"
[[ -f $checkout/tests/test_helper.tcl ]] || fail "$checkout is no checkout of redis/redis"

work=$(mktemp -d)
port=${PORT:-32379} nodes=${NODES:-1} # neither a port that tests reserve nor one of outgoing connections
"${TURNLOG:-$root/bin/turnlog}" dev --nodes "$nodes" --port-base "$port" --data-dir "$work/data" >"$work/dev.log" 2>&1 &
dev=$!
finish() {
	kill -INT "$dev" 2>/dev/null && wait "$dev" || true
	rm -rf "$work"
}
trap finish EXIT
until grep -q 'Ctrl-C stops' "$work/dev.log"; do
	kill -0 "$dev" 2>/dev/null || { cat "$work/dev.log" >&2; exit 1; }
	sleep 0.1
done
((nodes == 1)) || port=$((port + 10)) # not the first to start, so perhaps a follower

# explained UNIT TEST: whether the list of intended differences has it.
explained() {
	local unit pattern reason
	while IFS=$'\t' read -r unit pattern reason; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $unit == "$1" && $2 == $pattern ]] && return 0
	done < <(grep -v '^#' "$here/redis-tests.known")
	return 1
}

# Those that would wait for ever are not begun.
skip=()
while IFS=$'\t' read -r _ name reason; do
	[[ $reason != "skipped: "* ]] || skip+=(--skiptest "$name")
done < <(grep -v '^#' "$here/redis-tests.known")

# run UNIT: its output, into the file $out.
run() {
	(cd "$checkout" && timeout "${UNIT_TIMEOUT:-120}" tclsh "$here/redis-tests.tcl" --host 127.0.0.1 --port "$port" \
		--single "unit/$1" --durable --ignore-encoding --ignore-digest "${skip[@]}" --tags "$deny") 2>&1 |
		sed 's/\x1b\[[0-9;]*m//g' >"$out" || true
	grep -q 'The End' "$out" || echo "[err]: the unit did not end" >>"$out"
	[[ -z ${KEEP:-} ]] || cp "$out" "$KEEP/${1//\//_}.txt"
}

# judge UNIT: counts its failures, and prints those that are not intended.
judge() {
	intended=0 failed=0
	local name
	while IFS= read -r name; do
		if explained "$1" "$name"; then
			intended=$((intended + 1))
		else
			failed=$((failed + 1))
			echo "$1: $name"
			grep -F -A 4 -m 1 "[err]: $name" "$out" | sed '1d;/^\[/,$d;s/^/    /'
		fi
	done < <(sed -n 's/^\[err\]: //p;s/^\[exception\]: /exception: /p' "$out" | sed 's| in tests/unit/.*||' | sort -u)
}

# row UNIT: its row of the table; also whether docs/redis.md has the same. An intended failure that depends on
# timing may be absent.
row() {
	local passed skipped missing documented
	passed=$(grep -c '^\[ok\]' "$out" || true)
	skipped=$(grep -cE '^\[(ignore|skip)\]' "$out" || true)
	missing=$(sed -nE 's/^\[ignore\].*: needs ([A-Z|]+)$/`\1`/p' "$out" | sort -u | paste -sd, | sed 's/,/, /g')
	echo "| $1 | $passed | $skipped | $intended | $failed | $missing |" >>"$work/table"
	documented=$(sed -nE "s#^\\| $1 \\| ([0-9]+) \\| ([0-9]+) \\| ([0-9]+) \\| .*#\\1 + \\3 \\2#p" "$root/docs/redis.md")
	[[ $((${documented% *})) == $((passed + intended + failed)) && ${documented##* } == "$skipped" ]]
}

status=0 out=$work/out
printf '| unit | passed | skipped | fail as intended | failed | skipped for want of |\n|---|---|---|---|---|---|\n' >"$work/table"
for unit in "${units[@]}"; do
	run "$unit"
	judge "$unit"
	if ((failed)); then
		echo "$unit: a second time"
		run "$unit"
		judge "$unit"
	fi
	((failed == 0)) || status=1
	row "$unit" || { echo "$unit: the table in docs/redis.md is stale" && status=1; }
done
echo
cat "$work/table"
passed=$(awk -F'|' 'NR > 2 { n += $3 } END { print n }' "$work/table")
failed=$(awk -F'|' 'NR > 2 { n += $6 } END { print n }' "$work/table")
echo "$passed passed, $failed failed"
exit "$status"
