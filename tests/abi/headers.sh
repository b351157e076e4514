#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every installed header compiles alone and all of them together, as C11 and as C++11, with each
# compiler there is; and <kymo/kymo.h> brings the whole tools interface.
set -eu
include=$1
strict="-pedantic -Wall -Wextra -Werror -I$include -fsyntax-only"
count=0 seen=

try() { # COMPILER STANDARD LANGUAGE: compiles what comes in
	command -v "$1" > /dev/null || return 0
	case " $seen " in *" $1 "*) ;; *) seen="$seen $1" ;; esac
	"$1" -std="$2" $strict -x "$3" -
}

try_all() { # TEXT [c]
	if [ "${2:-c}" = c ]; then
		for cc in ${CC:-cc} gcc clang; do
			printf '%s\nint main(void) { return 0; }\n' "$1" | try "$cc" c11 c
		done
	fi
	for cxx in ${CXX:-c++} g++ clang++; do
		printf '%s\nint main() { return 0; }\n' "$1" | try "$cxx" c++11 c++
	done
}

all=
for header in "$include"/kymo/*.h; do
	line=$(printf '#include <kymo/%s>' "$(basename "$header")")
	try_all "$line"
	all="$all$line
"
	count=$((count + 1))
done
for header in "$include"/kymo/*.hpp; do
	try_all "#include <kymo/$(basename "$header")>" c++
	count=$((count + 1))
done
try_all "$all"

# What a tool may use, marker.h and register.h being for others.
for header in "$include"/kymo/*.h; do
	name=$(basename "$header")
	case $name in kymo.h | marker.h | register.h) continue ;; esac
	echo "#include <kymo/kymo.h>" | ${CC:-cc} -std=c11 -I"$include" -M -x c - |
		grep -q "kymo/$name" || { echo "<kymo/kymo.h> does not bring <kymo/$name>"; exit 1; }
done
echo "$count headers compile alone and together with:$seen"
test "$count" -gt 12
