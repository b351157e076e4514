#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that needs an NVIDIA GPU: tests and benchmarks of the CUDA backend, as one table.
#
#   tools/gpu/run-all.sh [KYMO]
#
# Builds into build/gpu with gcc, cmake and ninja. What programs load (libkymo, libkymo-inject) needs
# no library's headers and is always built here, from this source. kymo itself needs those of SQLite
# and xxhash: where they are missing, a copy of KYMO is used in its place, a kymo that was built from
# the same source elsewhere and finds its libraries by itself.
#
# Programs are built with nvcc unless GPU_PROGRAMS names a folder that has them; with the programs of
# tests/programs (and libOpenCL.so.1, where the system has no loader) in it, OpenCL on NVIDIA is
# tested too. OPENCL_HEADERS is where CL/cl_layer.h is, if not where compilers look. OUT keeps traces
# and logs. GPU_ONLY=part,part does only those parts; GPU_SECONDS is how long each measurement takes.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${OUT:-$(mktemp -d)}
build=$root/build/gpu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

configure() {
	cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKYMO_TESTS=OFF \
		-DKYMO_EXAMPLES=OFF -DKYMO_BENCH=OFF \
		${OPENCL_HEADERS:+"-DOPENCL_HEADERS=$OPENCL_HEADERS"} "$@" >>"$out/build.log" 2>&1
}

headers() {
	printf '#include <sqlite3.h>\n#include <xxhash.h>\n' | cc -fsyntax-only -xc - 2>/dev/null
}

rm -rf "$build"
: >"$out/build.log"
if headers; then
	configure -DKYMO_CLI=ON && targets='kymo kymo-inject libkymo'
elif [ -n "${1:-}" ]; then
	configure -DKYMO_CLI=OFF && targets='kymo-inject libkymo'
else
	echo "run-all.sh: no headers of SQLite and xxhash here: name a kymo built elsewhere" >&2
	exit 2
fi || { tail -20 "$out/build.log"; exit 3; }
# shellcheck disable=SC2086
ninja -C "$build" $targets kymo-opencl-preload kymo-exports >>"$out/build.log" 2>&1 || { tail -20 "$out/build.log"; exit 3; }
case $targets in
'kymo '*) ;;
*) mkdir -p "$build/bin" && cp "$1" "$build/bin/kymo" || exit 3 ;;
esac

programs=${GPU_PROGRAMS:-}
if [ -z "$programs" ]; then
	programs=$work
	for p in launch_rate app hot edge hang loop transpose matmul banks; do
		nvcc -O2 -arch=native -lineinfo -o "$work/$p" "$root/tests/cuda/gpu/$p.cu" -lcuda || exit 3
	done
	cuda=${CUDA_HOME:-/usr/local/cuda}
	# With PTX, which code for one device alone has not.
	for p in lines regions; do
		nvcc -O2 -lineinfo -I"$root/include" -o "$work/$p" "$root/tests/cuda/gpu/$p.cu" || exit 3
	done
	cc -O2 -o "$work/nvrtc" "$root/tests/cuda/gpu/nvrtc.c" -I"$cuda/include" -L"$cuda/lib64" -lnvrtc -lcuda \
		-Wl,-rpath,"$cuda/lib64" || exit 3
	cc -O2 -shared -fPIC -o "$work/libfloor.so" "$root/tests/cuda/gpu/floor.c" -I"$cuda/include" \
		-I"$cuda/extras/CUPTI/include" -L"$cuda/lib64" -L"$cuda/extras/CUPTI/lib64" -lcupti \
		-Wl,-rpath,"$cuda/lib64:$cuda/extras/CUPTI/lib64" || exit 3
fi
# CUPTI's own tracing sample, as shipped, to compare with.
sample=${CUDA_HOME:-/usr/local/cuda}/extras/CUPTI/samples/cupti_trace_injection
if [ -z "${CUPTI_SAMPLE:-}" ] && [ -d "$sample" ]; then
	cp -r "$sample/.." "$work/samples"
	make -C "$work/samples/cupti_trace_injection" CUDA_INSTALL_PATH="${CUDA_HOME:-/usr/local/cuda}" \
		>>"$out/build.log" 2>&1
	CUPTI_SAMPLE=$(find "$work/samples/cupti_trace_injection" -name '*.so' | head -1)
	export CUPTI_SAMPLE
	# Those that count kernels, where this CUPTI has them and they build.
	for s in profiling_injection range_profiling; do
		make -C "$work/samples/$s" CUDA_INSTALL_PATH="${CUDA_HOME:-/usr/local/cuda}" >>"$out/build.log" 2>&1
	done
	CUPTI_COUNTING=$(find "$work/samples/profiling_injection" -name '*.so' 2>/dev/null | head -1)
	CUPTI_RANGES=$(find "$work/samples/range_profiling" -type f -perm -1 ! -name '*.so' 2>/dev/null | head -1)
	export CUPTI_COUNTING CUPTI_RANGES
fi
python3 -B "$root/tools/gpu/run_all.py" --kymo "$build/bin/kymo" --programs "$programs" --out "$out" \
	--seconds "${GPU_SECONDS:-30}" \
	${GPU_ONLY:+--only "$GPU_ONLY"}
