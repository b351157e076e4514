#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records for half an hour and watches the memory and the descriptors of program, drain, keeper and launcher:
#   tools/soak.sh [--build DIR] [MINUTES [INTERVAL]]     (default: build/release or build/ci, 30 minutes, 10 seconds)
# Two recordings at once: "flight" makes marks at full speed into a flight recorder (--on-full overwrite), which
# needs no disk; "stream" makes some 200,000 a second, all of which reach the disk (a GiB of it is kept free).
# Status 1 if memory or descriptors grow, or what was made is not what was recorded, lost and overwritten.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
build=
if [ "${1:-}" = --build ]; then
	build=$2
	shift 2
fi
for folder in release ci; do
	: "${build:=$([ -x "$top/build/$folder/tests/harm/shapes" ] && echo "$top/build/$folder")}"
done
[ -n "$build" ] || {
	echo "soak: nothing is built here: make" >&2
	exit 2
}
exec python3 -B "$top/tests/harm/soak.py" "$build" "$@"
