#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every installed header compiles alone, as C11 and (with a C++ compiler) as C++11.
set -eu
include=$1
count=0
for header in "$include"/kymo/*.h; do
	name=kymo/$(basename "$header")
	printf '#include <%s>\nint main(void) { return 0; }\n' "$name" |
		${CC:-cc} -std=c11 -pedantic -Wall -Wextra -Werror -I"$include" -fsyntax-only -x c -
	if command -v c++ >/dev/null; then
		printf '#include <%s>\nint main() { return 0; }\n' "$name" |
			c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I"$include" -fsyntax-only -x c++ -
	fi
	count=$((count + 1))
done
echo "$count headers compile alone"
test "$count" -gt 2
