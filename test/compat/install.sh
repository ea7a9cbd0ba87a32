#!/usr/bin/env bash
# Installs what `make compat` drives into bin/compat, in the versions that the lock
# files beside this script name:
#
#	test/compat/install.sh [python/NAME.txt | sdk-python | sdk-python-crewai | javascript | sdk-typescript | java] ...
#
# Without arguments: everything. What is installed already is left alone. A package
# index that cannot be reached is a failure.
set -euo pipefail
cd "$(dirname "$0")"
into=$(cd ../.. && pwd)/bin/compat
mkdir -p "$into"

fail() {
	echo "test/compat/install.sh: $*" >&2
	exit 1
}

# debian PACKAGE ...: installs them, as root on Debian.
debian() {
	[[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || fail "needed, and cannot be installed here: $*"
	echo "installing $*" >&2
	apt-get update -qq || fail "the lists of Debian packages cannot be read"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null || fail "apt-get cannot install $*"
}

# current DIRECTORY FILE ...: whether it was installed from these files; mark says so.
current() { [[ -f $1/.installed ]] && cat "${@:2}" | cmp -s - "$1/.installed"; }
mark() { cat "${@:2}" >"$1/.installed"; }

# python LOCK: a virtual environment; those of redis-N.txt hold only that client.
python() {
	local lock=$1 venv=$into/$(basename "$1" .txt)
	current "$venv" "$lock" && return
	python3 -c 'import venv, ensurepip' 2>/dev/null || debian python3 python3-venv
	echo "installing $lock" >&2
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$lock" || fail "pip cannot install $lock: is the index of Python packages reachable?"
	mark "$venv" "$lock"
}

# sdk-python: the frameworks of turnlog's own Python package, in the versions that its tests use.
sdk-python() {
	../../sdk/python/install.sh
	ln -sfn ../sdk-python "$into/sdk-python"
}
sdk-python-crewai() {
	../../sdk/python/install.sh crewai
	ln -sfn ../sdk-python-crewai "$into/sdk-python-crewai"
}

# sdk-typescript: turnlog's own TypeScript package, built, and its frameworks.
sdk-typescript() { ../../sdk/typescript/check.sh --build; }

javascript() {
	local dir=$into/javascript files=(javascript/package.json javascript/package-lock.json)
	mkdir -p "$dir"
	cp javascript/*.mjs "$dir/" # modules are looked up from where a script lies
	current "$dir" "${files[@]}" && return
	command -v npm >/dev/null || debian nodejs npm
	echo "installing javascript/package-lock.json" >&2
	cp "${files[@]}" "$dir/"
	# Peers that a library could use besides Redis are not wanted.
	npm ci --prefix "$dir" --silent --legacy-peer-deps --no-fund --no-audit || fail "npm cannot install javascript/package-lock.json: is its registry reachable?"
	mark "$dir" "${files[@]}"
}

# java: the driver and its libraries, and beside them older and newer clients; in lib-turnlog, turnlog's own package
# with the frameworks that its tests use.
java() {
	local dir=$into/java sources=(java/pom.xml java/src/main/java/compat/*.java ../../sdk/java/pom.xml
		../../sdk/java/src/main/java/io/github/turnlog/memory/*.java)
	current "$dir" "${sources[@]}" && return
	command -v mvn >/dev/null || debian maven default-jdk-headless
	echo "installing java/pom.xml" >&2
	rm -rf "$dir"
	mkdir -p "$dir"
	../../sdk/java/check.sh --pack "$dir/packed"
	maven package dependency:copy-dependencies -DoutputDirectory="$dir/lib"
	cp -r "$dir/build/classes" "$dir/classes"
	maven dependency:copy-dependencies -DoutputDirectory="$dir/lib-other" -Djedis=8.0.2 -Dlettuce=6.8.1.RELEASE
	maven dependency:copy-dependencies -DoutputDirectory="$dir/lib-turnlog" -Dlangchain4j=1.19.0
	mark "$dir" "${sources[@]}"
}

maven() {
	local out
	out=$(mvn --quiet --batch-mode -f java/pom.xml -Dbuild="$into/java/build" -Dturnlog="$into/java/packed" -U "$@") || fail "Maven cannot build java/pom.xml: is its repository reachable? $out"
}

if (($# == 0)); then
	set -- python/*.txt sdk-python sdk-python-crewai javascript sdk-typescript java
fi
for part in "$@"; do
	case $part in
	python/*.txt) python "$part" ;;
	sdk-python | sdk-python-crewai | javascript | sdk-typescript | java) "$part" ;;
	*) fail "no such part: $part" ;;
	esac
done
