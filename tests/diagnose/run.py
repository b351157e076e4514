#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with one planted cause each: are they diagnosed? See README.md.

  run.py KYMO [--only PATTERN] [--half N] [--rounds N] [--build DIR] [--json] [--truth] [--no-diagnose]
  run.py KYMO --build-only | --list | --check

Builds the cases, runs each and its repaired twin untraced and under `kymo run`, by turns, in several
rounds, compares what `kymo diagnose` says first with what was planted, and the gain it tells with what
repairing wins. Status 1 if that is below the aims, 2 if a case does not do what it should."""

import argparse
import fnmatch
import glob
import json
import math
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
CASES = os.path.join(HERE, "cases")
TRUTH = os.path.join(HERE, "truth.json")
sys.path.insert(0, os.path.join(HERE, "..", "base"))
import kymotest  # noqa: E402

CAUSES = ["blocking-copy", "pageable-copy", "same-queue", "false-dependency", "polling", "launch-bound",
          "too-many-syncs", "tiny-transfers", "round-trip", "allocation-churn", "rebuild-in-loop", "queue-churn",
          "first-touch", "serialised-queues", "small-grid", "imbalance-ranks", "imbalance-devices",
          "imbalance-threads", "late-sender", "late-receiver", "wait-at-collective", "host-late", "startup",
          "openmp-barrier", "serial-between-regions", "target-mapping", "host-fallback", "memory-growth", "leak", "object-leak",
          "ignored-errors", "managed-thrash", "waiting-io", "none"]

# The cause that a rule of `kymo diagnose` tells, where the two are not called the same.
RULES = {"late-polling": "polling", "mpi-late-polling": "polling"}

# What must be reached: parts of the cases (causes, gains), findings (clean ones).
AIM_FIRST = 0.95  # the planted cause is the first finding
AIM_GAIN = 0.8  # of the twins' gains are told ...
GAIN_WITHIN = 0.25  # ... to within this part of what was won
AIM_CLEAN = 0  # findings on clean cases

LIMIT = 180  # seconds for a program on a busy machine
ENVIRONMENT = {
    "POCL_MAX_PTHREAD_COUNT": "4", "POCL_AFFINITY": "0", "POCL_DEVICES": "pthread",
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_base_warn_component_unused": "0",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "4",
}
LAUNCHERS = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}
LLVM = [f"/usr/lib/llvm-{n}" for n in range(21, 15, -1)]
# The fakes that tell Kymo what a GPU would have done; kernels.h of the cases says how long it took.
CUPTI = os.path.join(SOURCE, "tests", "cuda")


class Skip(Exception):
    """What is needed is not here."""


class Wrong(Exception):
    """The corpus is broken: a program fails, twins differ."""


# ---- building ------------------------------------------------------------------------------------

def compiler(*names):
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise Skip(f"no {names[0]}")


def llvm():
    for folder in LLVM:
        if os.path.exists(f"{folder}/bin/clang") and os.path.exists(f"{folder}/lib/libomp.so"):
            return folder
    raise Skip("no clang with libomp")


def newer(target, sources):
    if not os.path.exists(target):
        return True
    made = os.path.getmtime(target)
    return any(os.path.getmtime(s) > made for s in sources)


def must(argv):
    p = subprocess.run(argv, capture_output=True, text=True, check=False)
    if p.returncode:
        raise Wrong(f"{' '.join(argv)}\n{p.stdout}{p.stderr}")


def text_header(path, name, folder):
    """NAME.h with the file as a string, as CMake's example_text() makes it."""
    with open(path, "rb") as f:
        data = f.read()
    with open(os.path.join(folder, name + ".h"), "w", encoding="utf-8") as f:
        f.write(f"static const char {name}[] = {{{','.join(str(b) for b in data)},0}};\n")


class Case:
    def __init__(self, folder, options):
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
            self.about = json.load(f)
        self.folder, self.options = folder, options
        self.name, self.cause = self.about["name"], self.about["cause"]
        self.twin = self.about.get("twin")
        self.half = self.about.get("half", 1)  # 2: added when the rules were there, with their thresholds as they were
        self.out = os.path.join(options.build, self.name)
        self.kind = self.about["build"]["kind"]
        self.skipped = None
        self.walls = {"bad": [], "repaired": []}
        self.traced = {"bad": [], "repaired": []}
        self.findings = {"bad": [], "repaired": []}
        self.printed = None
        if self.cause not in CAUSES:
            raise Wrong(f"{self.name}: no cause is called {self.cause}")
        if self.name != os.path.basename(folder):
            raise Wrong(f"{folder}: called {self.name}")

    def sides(self):
        return ["bad", "repaired"] if self.twin else ["bad"]

    def sources(self):
        words = self.about["build"].get("sources", ["main.c"])
        return [os.path.normpath(os.path.join(self.folder, w)) for w in words]

    def command(self, target):
        """The compiler's words before the sources, and those behind them."""
        build, mpi = self.about["build"], self.about["run"].get("mpi")
        front = ["-O2", "-g", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-DCL_TARGET_OPENCL_VERSION=120",
                 "-I" + os.path.dirname(target), "-I" + os.path.join(SOURCE, "include"), *[w.replace("SOURCE", SOURCE) for w in build.get("flags", [])]]
        back = ["-lm", "-lpthread"]
        words = self.kind.split("+")
        if "opencl" in words:
            back = ["-lOpenCL", *back]
        if "omp" in words:
            folder = llvm()
            front = ["-fopenmp", *front]
            back += ["-L" + folder + "/lib", "-Wl,-rpath," + folder + "/lib"]
            cc = folder + "/bin/clang"
            if build.get("offload"):
                front += ["-fopenmp-targets=x86_64-pc-linux-gnu"]
        else:
            cc = compiler(os.environ.get("CC", "cc").split()[0], "cc")
        if mpi:
            cc = ["env", f"OMPI_CC={cc}", f"MPICH_CC={cc}", compiler("mpicc." + mpi)]
        else:
            cc = [cc]
        if "cuda" in words and self.options.gpu:
            return ["nvcc", "-x", "cu", "-O2", "-g", "-lineinfo", "-arch=native", "-I" + SOURCE], []
        if "cuda" in words:
            back = [os.path.join(HERE, "common", "cuda_model.c"), self.library(), "-rdynamic",
                    "-Wl,-rpath," + self.options.build, *back]
        return cc + front, back

    def library(self):
        path = os.path.join(self.options.build, "libcupti-fake.so")
        source = os.path.join(CUPTI, "fake.c")
        if newer(path, [source]):
            must([compiler("cc"), "-std=gnu11", "-O2", "-g", "-pthread", "-shared", "-fPIC", source, "-o", path])
        return path

    def build(self):
        if self.options.gpu and (self.kind != "cuda" or "MODEL_CODE" in self.about["run"].get("env", {})):
            raise Skip("not for GPUs")
        if self.kind == "bin":
            path = os.path.join(os.path.dirname(self.options.kymo), self.about["build"]["program"])
            if not os.path.exists(path):
                raise Skip(f"{path} was not built")
            return
        common = os.path.join(HERE, "common")
        watched = self.sources() + [os.path.join(common, n) for n in os.listdir(common)]
        watched += [os.path.join(self.folder, "case.json")]
        os.makedirs(self.out, exist_ok=True)
        for name, path in self.about["build"].get("texts", {}).items():
            text_header(os.path.join(self.folder, path), name, self.out)
        for side in self.sides():
            target = os.path.join(self.out, side)
            if side == "repaired" and "define" not in self.twin:
                continue
            front, back = self.command(target)
            if newer(target, watched):
                more = ["-D" + self.twin["define"]] if side == "repaired" else []
                must([*front, *more, "-o", target, *self.sources(), *back])

    # ---- running ----

    def program(self, side):
        if self.kind == "bin":
            return os.path.join(os.path.dirname(self.options.kymo), self.about["build"]["program"])
        return os.path.join(self.out, side if side == "bad" or "define" in self.twin else "bad")

    def cache(self):
        """PoCL's; a case may want what it compiles of kernels at their first use to be forgotten."""
        forget = self.about["run"].get("forget")
        folder = os.path.join(self.out if forget else self.options.build, "pocl-cache")
        os.makedirs(folder, exist_ok=True)
        if forget:
            for pattern in (forget, "tempfile_*"):
                for path in glob.glob(os.path.join(glob.escape(folder), "**", pattern), recursive=True):
                    os.remove(path)
        return folder

    def environment(self, side):
        env = dict(os.environ, **ENVIRONMENT)
        env["POCL_CACHE_DIR"] = self.cache()
        env.update(self.about["run"].get("env", {}))
        if side == "repaired":
            env.update(self.twin.get("env", {}))
        if "omp" in self.kind and self.about["build"].get("offload"):
            env["LD_LIBRARY_PATH"] = llvm() + "/lib"
        if "cuda" in self.kind and not self.options.gpu:
            env.update(KYMO_CUPTI=self.library(), FAKE_VERSION="130001", FAKE_MULTIPROCESSORS="132")
        return env

    def argv(self, side, trace):
        run = self.about["run"]
        args = self.twin.get("args") if side == "repaired" else None
        words = [self.program(side), *(run.get("args", []) if args is None else args)]
        if trace:
            words = [self.options.kymo, "run", "--no-summary", "-o", trace, "--", *words]
        if run.get("mpi"):
            launcher = shutil.which(LAUNCHERS[run["mpi"]])
            if not launcher:
                raise Skip(f"no {LAUNCHERS[run['mpi']]}")
            words = [launcher, "-n", str(run["ranks"]), *words]
        return words

    def run(self, side, trace=None):
        """Seconds that it took."""
        argv = self.argv(side, trace)
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kymo-diagnose-") as cwd:
            p = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 stdin=subprocess.DEVNULL, env=self.environment(side), start_new_session=True)
            try:
                out, err = p.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.communicate()
                raise Wrong(f"{self.name}: {' '.join(argv)} takes more than {LIMIT} s") from None
        seconds = time.monotonic() - begin
        if p.returncode == 77:
            raise Skip(err.strip() or out.strip())
        if p.returncode:
            raise Wrong(f"{self.name}: {' '.join(argv)} ended with {p.returncode}\n{out}{err}")
        if not self.about.get("prints_times"):
            self.printed = self.printed if self.printed is not None else out
            if out != self.printed:
                raise Wrong(f"{self.name}, {side}: printed {out!r}, before {self.printed!r}")
        return seconds

    def diagnose(self, trace):
        p = subprocess.run([self.options.kymo, "diagnose", "--format", "json", trace], capture_output=True,
                           text=True, timeout=LIMIT, check=False)
        try:
            return json.loads(p.stdout)["findings"]
        except (ValueError, KeyError, TypeError):
            raise Wrong(f"{self.name}: kymo diagnose ended with {p.returncode}\n{p.stdout[:500]}{p.stderr}") from None

    def round(self):
        for side in self.sides():
            self.walls[side].append(self.run(side))
        if self.options.no_diagnose:
            return
        folder = tempfile.mkdtemp(prefix="kymo-diagnose-")
        try:
            for side in self.sides():
                trace = os.path.join(folder, side + ".kymo")
                self.traced[side].append(self.run(side, trace))
                self.findings[side].append(self.diagnose(trace))
                if self.options.keep:
                    os.makedirs(self.options.keep, exist_ok=True)
                    kept = os.path.join(self.options.keep, f"{self.name}-{side}.kymo")
                    shutil.rmtree(kept, ignore_errors=True)
                    shutil.copytree(trace, kept)
        finally:
            kymotest.remove(folder)

    # ---- what came out ----

    def won(self):
        """Seconds that repairing wins: the median of differences of neighbours in time."""
        if not self.twin or not self.walls["repaired"]:
            return None
        return statistics.median(b - r for b, r in zip(self.walls["bad"], self.walls["repaired"]))

    def firsts(self, side="bad"):
        """The cause told first in each round; `none` if there was no finding."""
        return [cause_of(f[0]) if f else "none" for f in self.findings[side]]

    def first(self, side="bad"):
        found = self.firsts(side)
        return statistics.mode(found) if found else None

    def right(self, cause):
        return cause == self.cause or cause in self.about.get("also", [])

    def told(self, side="bad"):
        """Seconds that the planted cause costs, as told: the median over the rounds."""
        gains = [next((f["gain_ns"] for f in found if self.right(cause_of(f))), None) for found in self.findings[side]]
        gains = [1e-9 * g for g in gains if g is not None]
        return statistics.median(gains) if gains else None

    def result(self):
        wall = {side: statistics.median(w) for side, w in self.walls.items() if w}
        return {"name": self.name, "half": self.half, "cause": self.cause, "synthetic": self.about.get("synthetic", False),
                "near_miss_of": self.about.get("near_miss_of"), "skipped": self.skipped, "wall": wall,
                "won": self.won(), "told": self.told(), "first": self.first(), "firsts": self.firsts(),
                "first_of_twin": self.first("repaired"), "findings": self.findings}


def cause_of(finding):
    return RULES.get(finding["rule"], finding["rule"])


# ---- the report ----------------------------------------------------------------------------------

def seconds(value):
    return f"{value:7.3f}" if value is not None else "      -"


def print_cases(cases):
    print(f"{'case':28} {'planted':22} {'bad s':>7} {'good s':>7} {'won s':>7} {'told s':>7}  first finding")
    for c in cases:
        wall = {side: statistics.median(w) if w else None for side, w in c.walls.items()}
        firsts = c.firsts()
        votes = f" ({firsts.count(c.first())} of {len(firsts)})" if len(set(firsts)) > 1 else ""
        mark = "" if not firsts or c.right(c.first()) else "   <- WRONG"
        print(f"{c.name:28} {c.cause:22} {seconds(wall['bad'])} {seconds(wall['repaired'])} {seconds(c.won())} "
              f"{seconds(c.told())}  {c.first() or '-'}{votes}{mark}")


def print_matrix(cases):
    """A row for each planted cause, a column for each told first: in how many runs. Causes have numbers."""
    cells = {}
    for c in cases:
        for first in c.firsts():
            cells[c.cause, first] = cells.get((c.cause, first), 0) + 1
    planted, told = {p for p, _ in cells}, {t for _, t in cells}
    known = [c for c in CAUSES if c in planted | told] + sorted(told - set(CAUSES))
    number = {cause: i + 1 for i, cause in enumerate(known)}
    columns = [c for c in known if c in told]
    print("\nplanted cause (row), and the number of the cause that was told first (column), in how many runs")
    print(f"{'':30}" + "".join(f"{number[c]:4}" for c in columns))
    for cause in known:
        row = "".join(f"{cells.get((cause, c), '.'):>4}" for c in columns) if cause in planted else "   never planted"
        print(f"  {number[cause]:3} {cause:24}{row}")


def judge(cases):
    """Prints what was reached; true if that is enough."""
    planted = [c for c in cases if c.cause != "none"]
    clean = [c for c in cases if c.cause == "none"]
    first = [c for c in planted if c.right(c.first())]
    twins = [c for c in planted if c.twin and not c.about.get("no_time")]
    near = [c for c in twins if c.told() is not None and abs(c.told() - c.won()) <= GAIN_WITHIN * c.won()]
    loud = [(c, f) for c in clean for found in c.findings["bad"] for f in found]
    print("\nno finding on clean cases and near misses" if not loud else
          "\nfindings on clean cases and near misses:")
    for c, f in loud:
        miss = f" (near miss of {c.about['near_miss_of']})" if c.about.get("near_miss_of") else ""
        print(f"  {c.name}{miss}: {f['rule']}, {1e-9 * f['gain_ns']:.3f} s: {f.get('title', '')}")
    still = [c for c in twins if c.told("repaired") is not None]
    for c in still:
        print(f"  {c.name}, repaired: still {c.cause}, {c.told('repaired'):.3f} s")
    print(f"\nplanted cause first      {len(first)} of {len(planted)}, aim {AIM_FIRST:.0%}")
    print(f"gain within {GAIN_WITHIN:.0%}          {len(near)} of {len(twins)}, aim {AIM_GAIN:.0%}")
    print(f"findings on clean cases  {len(loud)} in {len(clean)} cases, aim {AIM_CLEAN}")
    return (len(first) >= AIM_FIRST * len(planted) and len(near) >= AIM_GAIN * len(twins) and len(loud) <= AIM_CLEAN)


def by_construction(case):
    """Seconds that the cost comes to where it is told as a product: "80 x 4 ms"."""
    factors = re.match(r"(?:about )?((?:[\d.]+ x )+[\d.]+) (ms|us)\b", case.about.get("cost", ""))
    if not factors:
        return None
    return round(math.prod(map(float, factors[1].split(" x "))) * {"ms": 1e-3, "us": 1e-6}[factors[2]], 3)


def machine():
    version = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False).stdout.splitlines()
    return {"processors": os.cpu_count(), "architecture": platform.machine(), "system": platform.system(),
            "compiler": version[0] if version else "", "load": round(os.getloadavg()[0], 1)}


def save_truth(cases, options):
    """True gains; cases that were not run keep theirs."""
    known = {"cases": {}}
    if os.path.exists(TRUTH):
        with open(TRUTH, encoding="utf-8") as f:
            known = json.load(f)
    for c in cases:
        if not c.walls["bad"]:
            continue
        wall = {side: round(statistics.median(w), 3) for side, w in c.walls.items() if w}
        entry = {"cause": c.cause, "half": c.half, "wall_s": wall["bad"]}
        if c.twin:
            pairs = [round(b - r, 3) for b, r in zip(c.walls["bad"], c.walls["repaired"])]
            entry.update(repaired_s=wall["repaired"], won_s=round(c.won(), 3), differences_s=pairs)
            if by_construction(c) is not None:
                entry["construction_s"] = by_construction(c)
        known["cases"][c.name] = entry
    known["command"] = f"tests/diagnose/run.py KYMO --rounds {options.rounds} --no-diagnose --truth"
    known["machine"] = machine()
    known["cases"] = dict(sorted(known["cases"].items()))
    with open(TRUTH, "w", encoding="utf-8") as f:
        json.dump(known, f, indent=1)
        f.write("\n")


def composition(cases):
    """What the corpus must have, and does not."""
    clean = [c for c in cases if c.cause == "none"]
    for what, n, least in (("cases", len(cases), 40), ("clean ones", len(clean), 10),
                           ("with a repaired twin", sum(1 for c in cases if c.twin), 20),
                           ("near misses", sum(1 for c in clean if c.about.get("near_miss_of")), 10)):
        print(f"{n} {what}")
        if n < least:
            yield f"{n} {what}, at least {least} are wanted"
    synthetic = sum(1 for c in cases if c.about["synthetic"])
    print(f"{synthetic} synthetic")
    if synthetic > 15:
        yield f"{synthetic} synthetic, at most 15 are wanted"
    for c in cases:
        for key in ("wrong", "build", "run") + (("repair", "cost", "expected") if c.cause != "none" else ()):
            if key not in c.about:
                yield f"{c.name}: case.json has no {key}"
        for cause in c.about.get("also", []) + [c.about.get("near_miss_of", "none")]:
            if cause not in CAUSES:
                yield f"{c.name}: no cause is called {cause}"
    missing = set(CAUSES) - {c.cause for c in cases}
    if missing:
        yield f"no case has the cause {', '.join(sorted(missing))}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kymo", help="the command line that was built, build/ci/bin/kymo")
    p.add_argument("--only", default="*", metavar="PATTERN", help="cases, or a cause, as in a shell")
    p.add_argument("--half", type=int, choices=(1, 2), help="only the cases of one half")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--build", metavar="DIR", help="where to build; else a folder beside KYMO's")
    p.add_argument("--json", action="store_true", help="all that was found, as a document")
    p.add_argument("--keep", metavar="DIR", help="keep the last trace of each program there")
    p.add_argument("--truth", action="store_true", help="save what repairing won in truth.json")
    p.add_argument("--no-diagnose", action="store_true", help="only run them untraced")
    p.add_argument("--gpu", action="store_true", help="the cases of CUDA alone, with nvcc and on a GPU")
    p.add_argument("--build-only", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("--check", action="store_true", help="whether the corpus has what it should")
    o = p.parse_args()
    o.kymo = os.path.abspath(o.kymo)
    o.build = os.path.abspath(o.build or os.path.join(os.path.dirname(os.path.dirname(o.kymo)), "diagnose"))
    os.makedirs(o.build, exist_ok=True)
    cases = [Case(os.path.join(CASES, n), o) for n in sorted(os.listdir(CASES))]
    cases = [c for c in cases if any(fnmatch.fnmatch(n, o.only) for n in (c.name, c.cause))]
    cases = [c for c in cases if o.half in (None, c.half)]
    if o.list:
        for c in cases:
            print(f"{c.name:28} {c.cause:22} {c.about.get('wrong', '')}")
        return 0
    if o.check:
        missing = list(composition(cases))
        print("\n".join(missing))
        return 1 if missing else 0
    broken = []

    def attempt(case, what):
        if case.skipped:
            return
        try:
            what()
        except Skip as e:
            case.skipped = str(e)
            print(f"{case.name}: skipped, {e}", file=sys.stderr)
        except Wrong as e:
            case.skipped = "broken"
            broken.append(str(e))
            print(f"{case.name}: {e}", file=sys.stderr)

    if o.gpu:
        compiler("nvcc")
        o.build = os.path.join(o.build, "gpu")
        for c in cases:
            c.out = os.path.join(o.build, c.name)
    for c in cases:
        attempt(c, c.build)
    if o.build_only:
        return 2 if broken else 0
    for c in cases:  # what is compiled and cached in a first run
        for side in c.sides():
            attempt(c, lambda c=c, side=side: c.run(side))
    for _ in range(o.rounds):
        for c in cases:
            attempt(c, c.round)
    ran = [c for c in cases if not c.skipped]
    if o.truth:
        save_truth(ran, o)
    good = True
    if o.json:
        print(json.dumps([c.result() for c in cases], indent=1))
    else:
        print_cases(ran)
    if not o.no_diagnose and not o.json:
        for half in sorted({c.half for c in ran}):
            print(f"\n---- {'first' if half == 1 else 'second'} half")
            print_matrix([c for c in ran if c.half == half])
            good = judge([c for c in ran if c.half == half]) and good
    return 2 if broken else 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
