#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Roofs that `kymo calibrate` measures through OpenCL on the processor, beside those of a plain C program that does the
same (bench/roofs.c: sizes, vectors, threads). Both take turns; of each the best round counts, since work of others only
makes them less. Told is whether the two are within both intervals and a tolerance of 10 % of each other.

    roofs.py KYMO BENCH_ROOFS [ROUNDS [UNITS]]

UNITS: of PoCL, as many threads and no more; one thread finds moments without others sooner than all at once."""
import json
import os
import subprocess
import sys
import tempfile

KYMO, PLAIN, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 4
UNITS = sys.argv[4] if len(sys.argv) > 4 else None
TOLERANCE = 0.10
CHAINS = ("fp64x4", "fp32x8")


def plain(units, roof):
    each = roof["bytes"] if roof["name"] in ("l1", "l2") else roof["bytes"] // units
    words = [roof["name"]] if roof["name"] in CHAINS else ["copy", str(each)]
    done = subprocess.run([PLAIN, str(units), *words], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[1])  # of the faster half, as kymo takes what is far off by it


def main():
    best, other = {}, {}
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "XDG_CACHE_HOME": cache, **({"POCL_MAX_PTHREAD_COUNT": UNITS} if UNITS else {}),
               "POCL_CACHE_DIR": os.path.join(cache, "pocl")}
        for _ in range(ROUNDS):
            done = subprocess.run([KYMO, "calibrate", "--again", "--device", "opencl:0", "-f", "json"], env=env,
                                  capture_output=True, text=True, check=True)
            device = json.loads(done.stdout)["devices"][0]
            if device["type"] != "cpu":
                sys.exit(f"{device['name']} is no processor")
            for roof in device["roofs"]:
                if roof["value"] is None or roof["name"] not in ("memory", "l1", "l2", "l3", *CHAINS):
                    continue
                if roof["name"] not in best or roof["value"] > best[roof["name"]]["value"]:
                    best[roof["name"]] = roof
                for _ in range(3):
                    other[roof["name"]] = max(other.get(roof["name"], 0), plain(device["units"], roof))
    print(f"{device['name']}, {device['units']} units, load {os.getloadavg()[0]:.2f}, best of {ROUNDS} rounds")
    print(f"{'roof':10} {'kymo':>9} {'+-':>7} {'plain C':>9}  kymo / C")
    for name, roof in best.items():
        ratio = roof["value"] / other[name]
        within = abs(roof["value"] - other[name]) <= roof["interval"] + TOLERANCE * other[name]
        print(f"{name:10} {roof['value'] / 1e9:9.2f} {roof['interval'] / 1e9:7.2f} {other[name] / 1e9:9.2f}  {ratio:8.3f}"
              f"  {'within' if within else 'APART'}  {roof['unit']}")


if __name__ == "__main__":
    main()
