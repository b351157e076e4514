#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long recordings whose processes must not grow. tools/soak.sh says how it is used.

Usage: soak.py BUILD [MINUTES [INTERVAL]]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
sys.dont_write_bytecode = True
import kymotest  # noqa: E402
from account import counted, drain_of, keeper_of, program_of  # noqa: E402
import warden  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
MINUTES = float(sys.argv[2]) if len(sys.argv) > 2 else 30
INTERVAL = float(sys.argv[3]) if len(sys.argv) > 3 else 10
RECORDINGS = {"flight": ("endless", ["--on-full", "overwrite"]), "stream": ("paced", ["--buffer-size", "4M"])}  # all of which is touched soon
KEEP_FREE = 1 << 30
# From the first quarter on, by when all buffers have been touched: what pages of code and heap may add, once.
GROWTH = 1024  # KiB


class Recording:
    def __init__(self, folder, name):
        shape, options = RECORDINGS[name]
        self.name, self.trace, self.counts = name, f"{folder}/{name}.kymo", f"{folder}/{name}"
        self.launcher = subprocess.Popen([f"{BUILD}/bin/kymo", "run", "--no-summary", "-o", self.trace, *options, f"{BUILD}/tests/harm/shapes",
                                          self.counts, shape], stderr=subprocess.PIPE, text=True, env=kymotest.environment())
        kymotest.wait_for(lambda: counted(self.counts)[1] > 1000, f"{name} begins")
        launcher = self.launcher.pid
        self.pids = {"program": program_of(launcher, "shapes"), "drain": drain_of(launcher), "keeper": keeper_of(launcher), "launcher": launcher}
        self.samples = {who: [] for who in self.pids}

    def sample(self, at):
        for who, pid in self.pids.items():
            self.samples[who].append((at, *look_at(pid)))

    def end(self):
        """Status and what is wrong with the sum."""
        os.kill(self.pids["program"], signal.SIGTERM)
        err = self.launcher.communicate(timeout=1800)[1]
        kymotest.wait_for(lambda: kymotest.no_writers(self.trace), "the recording ends", seconds=1800)
        begun, done = counted(self.counts)
        summary = subprocess.run([f"{BUILD}/bin/kymo", "summary", "-f", "json", self.trace], capture_output=True, text=True, timeout=7200, check=False)
        tables = {t["name"]: t["rows"] for t in json.loads(summary.stdout)["tables"]}
        marks = sum(r["calls"] for r in tables.get("marks", []))
        lost, overwritten = (tables["quality"][0][n] for n in ("lost_records", "overwritten_records"))
        print(f"{self.name}: made {done:,}, recorded {marks:,}, lost {lost:,}, overwritten {overwritten:,}; on the disk {size_of(self.trace) >> 20} MiB")
        wrong = [] if done <= marks + lost + overwritten <= begun else [f"{self.name}: the sum is not exact (begun: {begun:,})"]
        if self.launcher.returncode != -signal.SIGTERM:
            wrong.append(f"{self.name}: the launcher ended with {self.launcher.returncode}: {err}")
        return wrong

    def growth(self):
        """Rows of the table, and what has grown."""
        wrong = []
        for who, samples in self.samples.items():
            late = samples[len(samples) // 4:]
            (first_at, first, first_fds), (last_at, last, last_fds) = late[0], late[-1]
            slope = slope_of([(at, kib) for at, kib, _ in late])
            middle = [samples[len(samples) * part // 4][1] for part in (2, 3)]
            print(f"{self.name:8}{who:10}" + "".join(f"{kib:10,}" for kib in (samples[0][1], first, *middle, last, max(s[1] for s in samples))) +
                  f"{slope * 60:14.2f}{samples[0][2]:6}{last_fds:6}")
            if last - first > GROWTH and slope * (last_at - first_at) > GROWTH:
                wrong.append(f"{self.name}: the {who} grew from {first:,} to {last:,} KiB")
            if last_fds > first_fds:
                wrong.append(f"{self.name}: the {who} had {first_fds} descriptors and has {last_fds}")
        return wrong


def look_at(pid):
    """Resident KiB, and descriptors."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        kib = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
    return kib, len(os.listdir(f"/proc/{pid}/fd"))


def slope_of(points):
    """Of the line that fits best, a second."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / below if below else 0


def size_of(trace):
    return sum(os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(trace) for name in names)


def main():
    wrong = []
    with kymotest.Folder(prefix="kymo-soak-") as folder:
        recordings = [Recording(folder, name) for name in RECORDINGS]
        start = time.monotonic()
        try:
            while time.monotonic() - start < MINUTES * 60 and shutil.disk_usage(folder).free > KEEP_FREE:
                for r in recordings:
                    r.sample(time.monotonic() - start)
                time.sleep(INTERVAL)
        except OSError as e:
            wrong.append(f"somebody ended: {e}")
        seconds = time.monotonic() - start
        if seconds < MINUTES * 60:
            wrong.append(f"ended after {seconds:.0f} s, as the disk got full or somebody ended")
        print(f"{seconds:.0f} s; resident KiB, and descriptors, at the beginning and the end")
        print(f"{'':18}" + "".join(f"{name:>10}" for name in ("at first", "1/4", "1/2", "3/4", "last", "most")) + f"{'KiB a minute':>14}{'fds':>6}{'last':>6}")
        for r in recordings:
            wrong += r.growth() + r.end()
    for line in wrong:
        print("WRONG:", line)
    print(f"{seconds:.0f} s, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    warden.keep()
    sys.exit(main())
