#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that needs an NVIDIA GPU: tests and benchmarks of the CUDA backend, as one table.
#
#   tools/gpu/run-all.sh [KYMO]
#
# KYMO is the kymo to use; without it one is built here with cmake and ninja into build/gpu (SQLite
# without headers: the amalgamation that SQLITE_AMALGAMATION names). Programs are built with nvcc
# unless GPU_PROGRAMS names a folder that has them. OUT keeps the traces and the logs.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${OUT:-$(mktemp -d)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kymo=${1:-}
if [ -z "$kymo" ]; then
	cmake -S "$root" -B "$root/build/gpu" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo >"$out/build.log" 2>&1 &&
		ninja -C "$root/build/gpu" kymo kymo-inject libkymo >>"$out/build.log" 2>&1 ||
		{ tail -20 "$out/build.log"; exit 3; }
	kymo=$root/build/gpu/bin/kymo
fi
programs=${GPU_PROGRAMS:-}
if [ -z "$programs" ]; then
	programs=$work
	for p in launch_rate app; do
		nvcc -O2 -arch=native -lineinfo -o "$work/$p" "$root/tests/cuda/gpu/$p.cu" || exit 3
	done
	cuda=${CUDA_HOME:-/usr/local/cuda}
	cc -O2 -shared -fPIC -o "$work/libfloor.so" "$root/tests/cuda/gpu/floor.c" -I"$cuda/include" \
		-I"$cuda/extras/CUPTI/include" -L"$cuda/lib64" -L"$cuda/extras/CUPTI/lib64" -lcupti \
		-Wl,-rpath,"$cuda/lib64:$cuda/extras/CUPTI/lib64" || exit 3
fi
exec python3 -B "$root/tools/gpu/run_all.py" --kymo "$kymo" --programs "$programs" --out "$out" \
	${GPU_ONLY:+--only "$GPU_ONLY"}
