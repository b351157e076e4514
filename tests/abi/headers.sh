#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every installed header compiles alone and all of them together, as C11 and as C++11, with each
# compiler there is; and <kymo/kymo.h> brings the whole tools interface.
set -eu
include=$1
strict="-pedantic -Wall -Wextra -Werror -I$include -fsyntax-only"
count=0 c="" cxx=""

for compiler in ${CC:-cc} gcc clang; do
	! command -v "$compiler" > /dev/null || c="$c $compiler"
done
for compiler in ${CXX:-c++} g++ clang++; do
	! command -v "$compiler" > /dev/null || cxx="$cxx $compiler"
done

try() { # TEXT LANGUAGE...
	case $2 in
	c) for compiler in $c; do
		printf '%s\nint main(void) { return 0; }\n' "$1" | $compiler -std=c11 $strict -x c -
	done ;;
	c++) for compiler in $cxx; do
		printf '%s\nint main() { return 0; }\n' "$1" | $compiler -std=c++11 $strict -x c++ -
	done ;;
	esac
}

all=
for header in "$include"/kymo/*.h "$include"/kymo/args/*.h; do
	test -e "$header" || continue # args: of installed trees
	line="#include <${header#"$include"/}>"
	try "$line" c
	try "$line" c++
	all="$all$line
"
	count=$((count + 1))
done
for header in "$include"/kymo/*.hpp; do
	try "#include <${header#"$include"/}>" c++
	count=$((count + 1))
done
try "$all" c
try "$all" c++

# What a tool may use, marker.h and register.h being for others.
for header in "$include"/kymo/*.h; do
	name=$(basename "$header")
	case $name in kymo.h | marker.h | register.h | kernel.h) continue ;; esac
	echo "#include <kymo/kymo.h>" | ${CC:-cc} -std=c11 -I"$include" -M -x c - |
		grep -q "kymo/$name" || { echo "<kymo/kymo.h> does not bring <kymo/$name>"; exit 1; }
done
echo "$count headers compile alone and together with$c$cxx"
test "$count" -gt 12
