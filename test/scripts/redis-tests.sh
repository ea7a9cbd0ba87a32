#!/usr/bin/env bash
# Runs the Redis project's own command tests against a node of a fresh cluster,
# from outside:
#
#   test/scripts/redis-tests.sh CHECKOUT [UNIT...]
#
# CHECKOUT is a checkout of the redis/redis repository (7.0.15 is what the table in
# docs/redis.md was made with); its tests write into its folder tests/tmp. Without
# units, those of the commands that turnlog has are run. Needs tclsh, and
# bin/turnlog (TURNLOG names another); PORT and NODES choose the cluster, KEEP a
# folder for the whole output.
#
# Prints a table, and every failure that test/scripts/redis-tests.known does not
# explain; ends with status 1 if there is one.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
checkout=${1:?"which checkout of redis/redis? make redis-tests TESTS=/path/to/redis"}
shift
units=("$@")
((${#units[@]})) || units=(
	type/string type/incr type/list type/list-2 type/list-3 type/hash type/set type/zset type/stream
	keyspace scan expire multi protocol quit pubsub other
)
# What cannot be asked of a server from outside, or is no question of commands.
deny="-needs:debug -needs:repl -needs:save -needs:config-maxmemory -external:skip -cluster -slow -large-memory"

[[ -f $checkout/tests/test_helper.tcl ]] || { echo "$checkout is no checkout of redis/redis" >&2; exit 2; }
command -v tclsh >/dev/null || { echo "tclsh is missing: apt-get install tcl" >&2; exit 2; }

work=$(mktemp -d)
port=${PORT:-17379} nodes=${NODES:-1}
"${TURNLOG:-$here/../../bin/turnlog}" dev --nodes "$nodes" --port-base "$port" --data-dir "$work/data" >"$work/dev.log" 2>&1 &
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

status=0
printf '| unit | passed | left out | intended | failed |\n|---|---|---|---|---|\n' >"$work/table"
for unit in "${units[@]}"; do
	out=$work/out
	(cd "$checkout" && timeout "${UNIT_TIMEOUT:-600}" tclsh "$here/redis-tests.tcl" --host 127.0.0.1 --port "$port" \
		--single "unit/$unit" --durable --ignore-encoding --ignore-digest "${skip[@]}" --tags "$deny") 2>&1 |
		sed 's/\x1b\[[0-9;]*m//g' >"$out" || true
	grep -q 'The End' "$out" || echo "[err]: the unit did not end" >>"$out"
	intended=0 failed=0
	while IFS= read -r name; do
		if explained "$unit" "$name"; then
			intended=$((intended + 1))
		else
			failed=$((failed + 1)) status=1
			echo "$unit: $name"
			grep -F -A 4 -m 1 "[err]: $name" "$out" | sed '1d;/^\[/,$d;s/^/    /'
		fi
	done < <(sed -n 's/^\[err\]: //p;s/^\[exception\]: /exception: /p' "$out" | sed 's| in tests/unit/.*||' | sort -u)
	printf '| %s | %d | %d | %d | %d |\n' "$unit" "$(grep -c '^\[ok\]' "$out" || true)" \
		"$(grep -cE '^\[(ignore|skip)\]' "$out" || true)" "$intended" "$failed" >>"$work/table"
	[[ -z ${KEEP:-} ]] || cp "$out" "$KEEP/${unit//\//_}.txt"
done
echo
cat "$work/table"
exit "$status"
