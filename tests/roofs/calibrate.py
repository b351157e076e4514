#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`kymo calibrate`: what it prints of a device, keeps and reads again, refuses; devices that fail. How fast a machine is
is not judged, and one that is busy may leave no time for some roofs: that it must say.

    calibrate.py KYMO opencl
    calibrate.py KYMO cuda FOLDER CXX    FOLDER: the fakes for libcuda.so.1 and NVRTC"""
import csv
import glob
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect, run  # noqa: E402

KYMO, PART = os.path.abspath(sys.argv[1]), sys.argv[2]
NO_TIME = "no time was left for it"
TRANSFERS = {f"{way}_{kind}" for way in ("h2d", "d2h") for kind in ("pageable", "pinned")}
LAUNCHES = {"launch", "launch_in_a_row"}
UNITS = {"bandwidth": "B/s", "transfer": "B/s", "latency": "s"}


def calibrate(*options, status=0, **environment):
    done = run(KYMO, "calibrate", *options, env=kymotest.environment(**environment))
    expect(done.returncode == status, options, "status", done.returncode, done.stdout, done.stderr)
    return done


def check_roofs(device, names, missing=()):
    """All are there, each with a value and its interval or with the reason why not."""
    roofs = {r["name"]: r for r in device["roofs"]}
    expect(set(roofs) == set(names), "roofs", sorted(roofs), "wanted", sorted(names))
    for name, r in roofs.items():
        expect(r["unit"] == UNITS.get(r["kind"], "OP/s" if name.startswith("int") else "FLOP/s"), name, r["unit"])
        if name in missing:
            expect(r["value"] is None and r["why"], name, r)
        elif r["value"] is None:
            expect(r["why"] == NO_TIME, name, "is not measured:", r["why"])
        else:
            expect(r["value"] > 0 and r["interval"] >= 0 and r["experiments"] + r["dropped"] >= 5, name, r)
    return roofs


def same_as_csv(device, text):
    rows = {r["roof"]: r for r in csv.DictReader(io.StringIO(text)) if r["device"] == device["name"]}
    expect(set(rows) == {r["name"] for r in device["roofs"]}, "rows of CSV", sorted(rows))
    for r in device["roofs"]:
        row = rows[r["name"]]
        expect(row["why"] == r["why"] and row["unit"] == r["unit"], row)
        expect((float(row["value"]) if row["value"] else None) == r["value"], row, r)
        if r["value"] and r["peak"]:
            expect(abs(float(row["share"]) - 100 * r["value"] / r["peak"]) < 1e-6, "share", row, r)


def files(cache):
    return glob.glob(os.path.join(cache, "kymo", "roofs", "*.json"))


def refused(cache, kept):
    """Files and options that cannot be."""
    bad = os.path.join(cache, "bad.json")
    with open(bad, "w", encoding="utf-8") as f:
        f.write('{"devices": 1}')
    for options, said in ((("--roofs", bad), "has no roofs"), (("--roofs", "/nonexistent"), "No such file")):
        expect(said in calibrate(*options, status=3).stderr, options)
    for options, said in ((("--roofs", kept, "--again"), "nothing is measured"), (("word",), "no operand"),
                          (("--plot", "a.gif"), "ends with")):
        expect(said in calibrate(*options, status=2).stderr, options)


def opencl():
    with kymotest.Folder() as cache:
        # PoCL keeps what it has compiled, where it does so without this test.
        compiled = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "pocl", "kcache")
        place = {"XDG_CACHE_HOME": cache, "POCL_CACHE_DIR": compiled}
        if not os.path.exists("/etc/OpenCL/vendors"):
            kymotest.skip("no OpenCL here")
        first = calibrate("--quick", "--device", "opencl", "-f", "json", **place)
        device = json.loads(first.stdout)["devices"][0]
        names = {"memory", "local", *TRANSFERS, *LAUNCHES, *(r["name"] for r in device["roofs"] if r["kind"] == "compute")}
        expect({"fp32", "int32"} <= {r["type"] for r in device["roofs"] if r["kind"] == "compute"}, "types", device)
        absent = [r["name"] for r in device["roofs"] if r["why"] and r["why"] != NO_TIME]
        expect(not any("wrong" in r["why"] for r in device["roofs"]), "results of kernels", device["roofs"])
        if device["type"] == "cpu":
            names |= {"l1", "l2", "l3"}
            expect(set(absent) <= {"l1", "l2", "l3", "fp64x1", "fp16x1"}, "not measured", device["roofs"])
            expect(device["local_is_cached"], "PoCL's local memory")
        else:
            names |= {"cache"}
        roofs = check_roofs(device, names, absent)
        expect(roofs["memory"]["bytes"] >= 2 * max(device["cache_bytes"]), "memory beyond the caches", roofs["memory"])
        if "no time was left" in first.stderr:  # what there is was kept, for rooflines
            expect(any(r["why"] == NO_TIME for r in roofs.values()) and len(files(cache)) == 1, first.stderr)
            with open(files(cache)[0], encoding="utf-8") as f:
                expect(json.load(f) == {"devices": [device]}, "what was kept of some")
            kept = os.path.join(cache, "made.json")
            for roof in roofs.values():
                roof.update({"value": 3e9, "interval": 1e7, "why": ""} if roof["why"] == NO_TIME else {})
            with open(kept, "w", encoding="utf-8") as f:
                json.dump({"devices": [device]}, f)
        else:
            kept, = files(cache)
            expect(os.stat(kept).st_mode & 0o077 == 0, "others may read it")
            again = calibrate("--quick", "--device", "opencl", "-f", "json", **place)
            expect(again.stdout == first.stdout, "what was kept")
        expect(json.loads(calibrate("--roofs", kept, "-f", "json").stdout) == {"devices": [device]}, "--roofs")
        same_as_csv(device, calibrate("--roofs", kept, "-f", "csv").stdout)
        shown = calibrate("--roofs", kept).stdout
        expect(not device["local_is_cached"] or "ordinary memory" in shown, shown)
        expect(all(name in shown for name in names), shown)
        picture = os.path.join(cache, "r.svg")
        calibrate("--roofs", kept, "--plot", picture)
        expect("File exists" in calibrate("--roofs", kept, "--plot", picture, status=3).stderr, "an old picture")
        with open(picture, encoding="utf-8") as f:
            expect("Roofline" in f.read(), "picture")
        expect("FLOP/byte" in calibrate("--roofs", kept, "--plot", "-").stdout, "plot in the terminal")
        refused(cache, kept)


# ---- CUDA's fake ---------------------------------------------------------------------------------

CUDA = {"memory", "l2", "l1", "local", "fp64x1", "fp32x1", "fp16x2", "int32x1", *TRANSFERS, *LAUNCHES}


def cuda(folder, compiler):
    with kymotest.Folder() as cache:
        log = os.path.join(cache, "log")
        place = {"XDG_CACHE_HOME": cache, "LD_LIBRARY_PATH": folder, "FAKE_LOG": log, "FAKE_CXX": compiler,
                 "FAKE_GPUS": "2", "OCL_ICD_VENDORS": "/nonexistent"}
        options = ("--quick", "--device", "cuda:1", "-f", "json")
        # Two at once: one measures, the other takes what that has kept.
        both = [subprocess.Popen([KYMO, "calibrate", *options], env=kymotest.environment(**place), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        said = [p.communicate() for p in both]
        expect(all(p.returncode == 0 for p in both), said)
        expect(sum("waiting for it" in err for _, err in said) <= 1, "at most one waits for the other", said)
        with open(log, encoding="utf-8") as f:
            calls = f.read()
        expect("released" in calls, "the context was not given back: what is left was not looked at")
        expect("WRONG" not in calls, [line for line in calls.splitlines() if "WRONG" in line])
        device, = json.loads(said[0][0])["devices"]
        check_roofs(device, CUDA, {"fp16x2"})  # its assembly is NVIDIA's: it does not build here
        why, = (r["why"] for r in device["roofs"] if r["name"] == "fp16x2")
        expect(why == NO_TIME or "does not build: roof.cu(1)" in why, why)
        expect(device["uuid"] == "a1" * 16 and device["pci"] == "0000:11:00.0", device["uuid"], device["pci"])
        peaks = {r["name"]: r["peak"] for r in device["roofs"] if r["peak"]}
        # 2 multiprocessors x lanes of compute capability 9.0 x 2 x 1 GHz; 500 MHz x 2 x 256 bits
        expect(peaks == {"memory": 500e6 * 2 * 32, "fp64x1": 2 * 64 * 2e9, "fp32x1": 2 * 128 * 2e9,
                         "fp16x2": 2 * 256 * 2e9, "int32x1": 2 * 64 * 2e9}, peaks)
        if not any("no time was left" in err for _, err in said):
            expect(said[0][0] == said[1][0] and len(files(cache)) == 1, "two that measured at once")
        dead(place, options)


def dead(place, options):
    """Memory that is not there, a device that fails, a driver that crashes."""
    short = calibrate(*options, "--again", status=1, **place, FAKE_FAIL="cuMemAlloc_v2:2:1")
    device, = json.loads(short.stdout)["devices"]
    expect(all("out of memory" in r["why"] for r in device["roofs"]), device["roofs"])
    failed = calibrate(*options, "--again", **place, FAKE_FAIL="cuLaunchKernel:719:30")
    device, = json.loads(failed.stdout)["devices"]
    roofs = {r["name"]: r for r in device["roofs"]}
    expect(any("unspecified launch failure" in r["why"] for r in roofs.values()) and "failed before" in roofs["launch"]["why"], roofs)
    expect(roofs["memory"]["value"], "what was measured before", roofs)
    expect("not kept: the device failed" in failed.stderr, failed.stderr)
    crashed = calibrate("--quick", "--device", "cuda", "--again", "-f", "json", status=1, **place,
                        FAKE_FAIL="cuStreamCreate:-1:1")
    devices = json.loads(crashed.stdout)["devices"]
    expect([d["note"] for d in devices] == ["its driver ended the process that measured: Aborted"] * 2, devices)


if PART == "opencl":
    opencl()
else:
    cuda(*sys.argv[3:])
