#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`kymo list devices` and doctor on this machine, with no runtime to be found.

Usage: devices.py KYMO
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
# A loader that is asked all the same would find no driver.
ENVIRONMENT = {**os.environ, "OCL_ICD_VENDORS": "/nowhere"}


def kymo(*words, **options):
    return subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                          env=ENVIRONMENT, **options)


def main():
    p = kymo("list", "devices", "--format", "json")
    assert p.returncode == 0 and not p.stderr, p
    machine = json.loads(p.stdout)
    devices = machine["devices"]
    assert [d["id"] for d in devices] == list(range(1, len(devices) + 1)), devices
    cpus = [d for d in devices if d["type"] == "cpu"]
    assert cpus and all(c["name"] and c["compute_units"] for c in cpus), cpus
    with open("/sys/devices/system/cpu/online", encoding="ascii") as f:
        ranges = [r.split("-") for r in f.read().strip().split(",")]
    online = sum(int(r[-1]) - int(r[0]) + 1 for r in ranges)
    assert sum(c["threads"] for c in cpus) == online, (cpus, online)
    pci = {d["pci"]["address"] for d in devices if "pci" in d}
    for address in pci:
        assert os.path.exists("/sys/bus/pci/devices/" + address), address
    sources = {s["name"]: s for s in machine["sources"]}
    assert sources["cpu"]["status"] == 0 and "pci" in sources and "kfd" in sources, sources

    text = kymo("list", "devices")
    assert text.returncode == 0 and all(d["name"] in text.stdout for d in devices), text
    bad = kymo("list", "devices", "--format", "xml")
    assert bad.returncode == 2 and '"xml"' in bad.stderr and not bad.stdout, bad
    assert kymo("list", "devices", "all").returncode == 2
    assert "devices" in kymo("list").stdout
    doctor = kymo("doctor").stdout
    assert f"{len([c for c in cpus if not c['parent']])} cpu" in doctor, doctor
    for s in machine["sources"]:
        assert s["status"] == 0 or s["text"] in doctor, (s, doctor)

    with kymotest.Folder() as folder:
        run = kymo("run", "--no-summary", "-o", folder + "/t.kymo", "cat", "/proc/self/maps")
        assert run.returncode == 0 and "libkymo" in run.stdout, run
        assert "hwloc" not in run.stdout, run.stdout
    print(f"{len(devices)} devices, {len(sources)} sources")


if __name__ == "__main__":
    main()
