# SPDX-License-Identifier: Apache-2.0
"""The single benchmarks. Each part is a function that returns rows of the table."""
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time


class Row:
    """One line: a value, and what it is measured against in the same run."""

    def __init__(self, quantity, value, unit, peer=None, peer_name="", mark="", note=""):
        self.quantity, self.value, self.unit = quantity, value, unit
        self.peer, self.peer_name, self.mark, self.note = peer, peer_name, mark, note

    def cells(self):
        if self.value is None:
            return (self.quantity, "-", "", "", self.mark, self.note)
        peer = f"{number(self.peer)} {self.peer_name}" if self.peer is not None else ""
        ratio = f"{self.value / self.peer:.2f}" if self.peer else ""
        return (self.quantity, f"{number(self.value)} {self.unit}", peer, ratio, self.mark,
                self.note)


def number(v):
    if abs(v) >= 10000:
        return f"{v:,.0f}"
    return f"{v:.1f}" if abs(v) >= 100 else f"{v:.2f}" if abs(v) >= 1 else f"{v:.3f}"


class Bench:
    """Where programs and traces are, and how programs are run."""

    def __init__(self, options):
        self.options = options
        self.bin = os.path.join(os.path.abspath(options.build), "bin")
        self.cores = os.cpu_count()
        self.commands = []
        self.base = options.scratch
        if not self.base:
            memory = "/dev/shm"
            roomy = os.path.isdir(memory) and shutil.disk_usage(memory).free > 12 << 30
            self.base = memory if roomy else tempfile.gettempdir()

    def __enter__(self):
        self.scratch = tempfile.mkdtemp(prefix="kymo-bench-", dir=self.base)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def program(self, name):
        return os.path.join(self.bin, name)

    def has(self, name):
        return os.access(self.program(name), os.X_OK)

    def run(self, command, env=None, cores=None, output=subprocess.PIPE):
        """Runs a command and returns its standard output; the first failure ends the benchmark."""
        command = [str(c) for c in command]
        if cores:
            command = ["taskset", "-c", f"0-{cores - 1}"] + command
        text = " ".join([f"{k}={v}" for k, v in (env or {}).items()] + command)
        if text not in self.commands:
            self.commands.append(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, **(env or {})))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode != 0:
            raise SystemExit(f"{text}: exit status {done.returncode}\n{done.stderr}")
        return done.stdout

    def values(self, command, **more):
        """The name=value pairs a benchmark program prints."""
        out = self.run(command, **more)
        found = {k: float(v) for k, v in re.findall(r"(\w+)=([-\d.]+)", out)}
        found["all_cpu"] = self.cpu  # s, by the program, the launcher and the drain
        return found

    def trace(self, name):
        path = os.path.join(self.scratch, name + ".kymo")
        shutil.rmtree(path, ignore_errors=True)
        return path

    def seconds(self):
        """Of a sustained run: 10 s of calls flat out write some 9 GB."""
        room = shutil.disk_usage(self.scratch).free / 1.5e9
        return min(self.options.seconds, max(1.0, room))

    def call(self, *arguments, drain=None):
        """One run of bench_call; with `drain`, recorded by a real drain into that trace."""
        command = [self.program("bench_call"), *arguments]
        if not drain:
            return self.values(command)
        trace = self.trace(drain)
        r = self.values([self.program("kymo"), "run", "--no-summary", "--no-compress", "-o", trace,
                         "--", command[0], "-r", "drain", *command[1:]])
        with open(os.path.join(trace, "manifest.json"), encoding="utf-8") as f:
            r["bytes"] = json.load(f)["totals"]["bytes"]
        shutil.rmtree(trace)
        return r


def medians(turns, measures):
    """Runs the measures in turn so often, and returns the median of each."""
    results = [[m() for m in measures] for _ in range(turns)]
    return [statistics.median(column) for column in zip(*results)]


# ---- what a call costs ----

def call(b):
    s = "0.5"
    plain, floor, unwanted, stopped, counted, thrown = medians(9, [
        lambda: b.call("-s", s, "plain")["cpu_ns"], lambda: b.call("-s", s, "floor")["cpu_ns"],
        lambda: b.call("-s", s, "unwanted")["cpu_ns"], lambda: b.call("-s", s, "stopped")["cpu_ns"],
        lambda: b.call("-s", s, "summary", drain="counted")["cpu_ns"],
        lambda: b.call("-s", s, "traced")["cpu_ns"]])
    floor -= plain
    rows = [
        Row("floor: 40-byte record, warm ring", floor, "ns"),
        Row("call not wanted", unwanted - plain, "ns", mark="<= 1 ns"),
        Row("call, context stopped", stopped - plain, "ns", mark="<= 1 ns"),
        Row("call counted (mode summary)", counted - plain, "ns", floor, "ns floor", "<= 35 ns"),
    ]
    burst = statistics.median(
        b.call("-n", "1000000", "-b", str(96 << 20), "traced", drain="burst")["cpu_ns"]
        for _ in range(9))
    rows.append(Row("call traced, burst of 1 M", burst - plain, "ns", floor, "ns floor"))
    rows.append(Row("call traced, chunks thrown away", thrown - plain, "ns", floor, "ns floor",
                    note="no drain: what capture alone costs"))
    arguments = ["-c", 64 << 10, "-n", 250000]
    pairs = [(b.call(*arguments, "plain"), b.call(*arguments, "traced")) for _ in range(9)]
    cold = min(t["cpu_ns"] for _, t in pairs) - min(p["cpu_ns"] for p, _ in pairs)
    rows.append(Row("call traced, first level cache cold", cold, "ns", floor, "ns floor",
                    note="the program touches 64 KiB between calls; best of 9"))
    return rows + sustained(b, plain, floor)


def sustained(b, plain, floor):
    rows = []
    seconds = b.seconds()
    for threads, what in ((1, "a core free"), (b.cores, "all cores busy")):
        r = b.call("-s", seconds, "-t", threads, "traced", drain="sustained")
        drain = r["all_cpu"] * 1e9 / r["calls"] - r["cpu_ns"]
        rows.append(Row(f"call traced, sustained, {what}", r["ns"] - plain, "ns", floor, "ns floor",
                        "<= 45 ns" if threads == 1 else "",
                        f"{r['calls'] / r['seconds'] / 1e6:.1f} M calls/s, "
                        f"{r['bytes'] / r['seconds'] / 1e6:,.0f} MB/s, "
                        f"{r['lost'] / r['calls']:.2%} lost and counted"))
        rows.append(Row("  of that on a processor", r["cpu_ns"] - plain, "ns", floor, "ns floor",
                        note=f"and {drain:.1f} ns by the drain beside it"))
    rows.append(Row("raw bytes of a call, 4 arguments", r["bytes"] / (r["calls"] - r["lost"]), "B",
                    mark="<= 32 B"))
    return rows


# ---- the peer ----

class Lttng:
    """A session as THAPI makes it: 4 x 512 KiB for each core, vpid and vtid with each event."""

    def __init__(self, bench, blocking):
        self.bench, self.blocking = bench, blocking
        self.home = os.path.join(bench.scratch, "lttng")
        self.output = os.path.join(bench.scratch, "lttng-trace")
        self.env = dict(os.environ, LTTNG_HOME=self.home, LTTNG_UST_ALLOW_BLOCKING="1")

    def lttng(self, *arguments):
        done = subprocess.run(["lttng", "--no-sessiond", *arguments], env=self.env,
                              capture_output=True, text=True)
        return done.stdout + done.stderr if done.returncode == 0 else None

    def __enter__(self):
        os.makedirs(self.home, exist_ok=True)
        pid_file = os.path.join(self.home, "pid")
        self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel",
                                        "--pidfile", pid_file], env=self.env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait = ["--blocking-timeout=inf"] if self.blocking else []
        for _ in range(100):
            if self.lttng("list") is not None:
                break
            time.sleep(0.05)
        self.lttng("create", "bench", f"--output={self.output}")
        self.lttng("enable-channel", "-u", "--subbuf-size=512k", "--num-subbuf=4", *wait, "c")
        self.lttng("add-context", "-u", "-c", "c", "-t", "vpid", "-t", "vtid")
        self.lttng("enable-event", "-u", "-c", "c", "kymo_bench:*")
        self.lttng("start")
        return self

    def call(self, *arguments):
        out = subprocess.run([self.bench.program("bench_lttng"), *[str(a) for a in arguments]],
                             env=self.env, capture_output=True, text=True, check=True).stdout
        return {k: float(v) for k, v in re.findall(r"(\w+)=([-\d.]+)", out)}

    def stop(self):
        """Bytes written, and events discarded."""
        said = self.lttng("stop") or ""
        lost = re.search(r"(\d+) events? were discarded", said)
        size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(self.output)
                   for f in files)
        return size, int(lost.group(1)) if lost else 0

    def __exit__(self, *_):
        self.lttng("destroy", "bench")
        self.daemon.terminate()
        self.daemon.wait()
        shutil.rmtree(self.output, ignore_errors=True)


def lttng(b):
    """Kymo and LTTng-UST, the same call, one after the other."""
    if not b.has("bench_lttng") or not shutil.which("lttng-sessiond"):
        return [Row("LTTng-UST", None, "", note="left out: liblttng-ust-dev or lttng-tools is not "
                    "installed")]
    rows = []
    plain = b.call("-s", "0.5", "plain")["ns"]
    for blocking in (False, True):
        kind = "blocking" if blocking else "discarding"
        for what, arguments in (("burst of 20,000", ["-n", 20000]), ("sustained", ["-s", 5])):
            with Lttng(b, blocking) as session:
                bare = session.call("-s", 0.3, "-p")["ns"]
                peer = session.call(*arguments)
                size, lost = session.stop()
            if arguments[0] == "-n":
                kymo = statistics.median(
                    b.call(*arguments, "traced", drain="burst")["ns"] for _ in range(9))
            else:
                kymo = b.call(*arguments, "traced", drain="peer")["ns"]
            note = f"LTTng-UST {kind}, entry and exit; {size / peer['calls']:.0f} B a call written"
            if lost:
                note += f", {lost / 2 / peer['calls']:.1%} lost"
            rows.append(Row(f"call traced, {what}", kymo - plain, "ns", peer["ns"] - bare,
                            "ns LTTng", note=note))
    return rows


# ---- a node with nothing to spare ----

def busy(b):
    """
    Every core calls once a microsecond; the drain has to take its time from them. Where no core is
    free, processor time is what counts, and it does not depend on what else the machine does.
    """
    work = 1000
    for _ in range(4):
        ns = b.call("-s", "0.3", "-w", work, "plain")["cpu_ns"]
        work = max(1, round(work * 1000 / ns))
    arguments = ["-n", "3000000", "-t", b.cores, "-w", work]
    slower, wall, lost = [], [], 0
    for _ in range(7):
        plain = b.call(*arguments, "plain")
        traced = b.call(*arguments, "traced", drain="busy")
        slower.append((traced["all_cpu"] / plain["all_cpu"] - 1) * 100)
        wall.append((traced["ns"] / plain["ns"] - 1) * 100)
        lost += traced["lost"]
    return [Row(f"busy node, {b.cores} cores at {1e3 / plain['cpu_ns']:.2f} M calls/s",
                statistics.median(slower), "% slower", mark="<= 5 %",
                note=f"processor time, drain included, {min(slower):.1f} to {max(slower):.1f} in 7 "
                f"pairs; by the clock {statistics.median(wall):.1f} %; {lost:.0f} records lost")]


# ---- OpenCL ----

class Turns:
    """
    One program that is given its turns: each line that it reads is one. It stays, so what a turn takes is the
    work alone, and several of them can take turns of some milliseconds: what else the machine does meets all.
    """

    def __init__(self, b, command, cores):
        command = [str(c) for c in command] + ["turns"]
        if cores:
            command = ["taskset", "-c", f"0-{cores - 1}"] + command
        text = " ".join(command)
        if text not in b.commands:
            b.commands.append(text)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def take(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return {k: float(v) for k, v in re.findall(r"(\w+)=([-\d.]+)", self.process.stdout.readline())}

    def end(self):
        self.process.communicate()
        if self.process.returncode != 0:
            raise SystemExit(f"{' '.join(self.process.args)}: exit status {self.process.returncode}")


class Pairs:
    """
    One program without Kymo and with it, and another to compare with, by turns. What is added to a round in one
    set of processes is the median of the differences of turns that lie beside each other; the sets give the
    quartiles, as where memory lies differs between processes.
    """
    TURNS = 40

    def __init__(self, b, arguments, options, cores=None, floor=None):
        self.added, self.plain = [], []
        plain = [b.program("bench_cl"), *arguments]
        for _ in range(b.options.pairs):
            commands = {"plain": plain,
                        "traced": [b.program("kymo"), "run", "--no-summary", "--no-compress", *options, "-o",
                                   b.trace("cl"), "--", *plain]}
            if floor:
                commands["floor"] = [b.program("bench_cl"), *floor]
            self.one_set({name: Turns(b, command, cores) for name, command in commands.items()})

    def one_set(self, programs):
        names = list(programs)
        turns = []
        for i in range(self.TURNS):
            order = names[i % len(names):] + names[:i % len(names)]
            turns.append({name: programs[name].take() for name in order})
        for p in programs.values():
            p.end()
        turns = turns[len(names):]  # the first ones are cold
        self.plain.append({clock: statistics.median(t["plain"][clock] for t in turns) for clock in ("ns", "cpu_ns")})
        self.added.append({(name, clock): statistics.median(t[name][clock] - t["plain"][clock] for t in turns)
                           for name in names for clock in ("ns", "cpu_ns")})

    def row(self, name, clock, mark=""):
        """What Kymo adds; beside it what the other program adds."""
        middle, note = self.quartiles([a["traced", clock] for a in self.added])
        plain = statistics.median(p[clock] for p in self.plain)
        if ("floor", clock) not in self.added[0]:
            return Row(name, middle, "ns added", plain, "ns without", mark, note)
        floor = statistics.median(a["floor", clock] for a in self.added)
        return Row(name, middle, "ns added", floor, "ns by timing alone", mark, f"{note}; {number(plain)} without")

    def row_above(self, name, clock, mark=""):
        """What Kymo adds more than the other program."""
        middle, note = self.quartiles([a["traced", clock] - a["floor", clock] for a in self.added])
        return Row(name, middle, "ns", mark=mark, note=note)

    def quartiles(self, values):
        low, middle, high = statistics.quantiles(values, n=4)
        return middle, f"quartiles {number(low)} to {number(high)} of {len(values)} sets of {self.TURNS} turns"


def without_opencl(b):
    if not b.has("bench_cl"):
        return "left out: OpenCL headers were not installed at build time"
    if subprocess.run([b.program("bench_cl"), "start"], capture_output=True).returncode != 0:
        return "left out: no OpenCL device (pocl-opencl-icd is enough)"
    return None


def kernels(b):
    why = without_opencl(b)
    if why:
        return [Row("kernel", None, "", note=why)]
    rows = []
    for cores in sorted({1, b.cores}):
        for what, rounds, name in (("kernels", 400, "enqueue and finish"),
                                   ("batch", 4000, "enqueue, finish every 100")):
            pairs = Pairs(b, [what, rounds], [], cores, ["timed-" + what, rounds])
            name += f", {cores} core{'s' if cores > 1 else ''}"
            rows.append(pairs.row(name, "ns"))
            rows.append(pairs.row("  on processors, PoCL's threads too", "cpu_ns"))
            rows.append(pairs.row_above("  above the timing, by the clock", "ns", "<= 300 ns"))
            rows.append(pairs.row_above("  above the timing, on processors", "cpu_ns", "<= 300 ns"))
    return rows


def arguments(b):
    why = without_opencl(b)
    if why:
        return [Row("clSetKernelArg", None, "", note=why)]
    rows, chatty = [], ["--include", "clSetKernelArg"]
    for name, options, mark in (("traced", chatty, "<= 45 ns"),
                                ("counted", ["--mode", "summary", *chatty], "<= 35 ns"),
                                ("not wanted", ["--exclude", "clSetKernelArg"], "<= 1 ns")):
        pairs = Pairs(b, ["arguments", 100000], options)
        rows.append(pairs.row(f"clSetKernelArg, {name}", "cpu_ns", mark))
    return rows


# ---- fixed cost ----

def elapsed(command):
    begin = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def fixed(b):
    kymo = b.program("kymo")

    def recorded(program, *options):
        return lambda: elapsed([kymo, "run", *options, "-o", b.trace("fixed"), "--", *program])

    def pair(name, program, options, mark):
        alone, run = medians(15, [lambda: elapsed(program), recorded(program, *options)])
        return Row(name, (run - alone) * 1e3, "ms added", alone * 1e3, "ms without", mark)

    rows = [pair("kymo run -- true", ["true"], [], "<= 50 ms")]
    if not without_opencl(b):
        start = [b.program("bench_cl"), "start"]
        rows.append(pair("OpenCL program that does nothing", start, [], ""))
        rows.append(pair("the same, --no-summary", start, ["--no-summary"], ""))
    return rows


# ---- after the run ----

def recorded_trace(b, name, program, *options):
    trace = b.trace(name)
    b.run([b.program("kymo"), "run", "--no-summary", *options, "-o", trace, "--", *program])
    b.run([b.program("kymo"), "compress", trace])
    with open(os.path.join(trace, "manifest.json"), encoding="utf-8") as f:
        totals = json.load(f)["totals"]
    raw = os.path.join(trace, "raw")
    return trace, {**totals, "compressed": sum(os.path.getsize(os.path.join(raw, n)) for n in os.listdir(raw))}


def timed(b, command):
    """Processor time of a command, so that what others do is not in it."""
    b.run(command, output=subprocess.DEVNULL)
    return b.cpu


def reading(b):
    """Size of what was recorded, and how many calls are read in a second of one core."""
    why = without_opencl(b)
    if why:
        return [Row("trace", None, "", note=why)]
    kymo, calls, rows = b.program("kymo"), 5500001, []
    program = [b.program("bench_cl"), "arguments", 5000000]
    trace, totals = recorded_trace(b, "arguments", program, "--mode", "full")
    rows.append(Row("clSetKernelArg on disk, raw", totals["bytes"] / calls, "B/call", mark="<= 32 B"))
    rows.append(Row("the same, compressed", totals["compressed"] / calls, "B/call", mark="<= 4 B"))
    took = timed(b, [kymo, "summary", trace])
    rows.append(Row("summary straight from raw", calls / took / 1e6, "M calls/s", mark=">= 20 M/s",
                    note="compressed trace; " + ("with" if has_store(trace) else "no") + " store"))
    took = timed(b, [kymo, "show", trace])
    rows.append(Row("decoded text (kymo show)", calls / took / 1e6, "M calls/s", mark=">= 2 M/s"))
    trace, totals = recorded_trace(b, "kernels", [b.program("bench_cl"), "batch", 200000])
    kernels = 220001
    rows.append(Row("a kernel on disk, raw", totals["bytes"] / kernels, "B/kernel",
                    note="the call and the record of the kernel"))
    rows.append(Row("the same, compressed", totals["compressed"] / kernels, "B/kernel"))
    return rows


def has_store(trace):
    return os.path.exists(os.path.join(trace, "store.db"))


def ingest(b):
    if not b.has("bench_ingest"):
        return [Row("ingest", None, "", note="left out: bench_ingest was not built")]
    print(b.run([b.program("bench_ingest")]))
    return []


def perfetto(b):
    if not b.has("bench_perfetto"):
        return [Row("slices to Perfetto", None, "", note="left out: bench_perfetto was not built")]
    one, ten = [dict(line.split() for line in b.run([b.program("bench_perfetto"), os.path.join(b.scratch, "p.pftrace"), n]).splitlines())
                for n in ("300000", "3000000")]
    return [
        Row("slices to Perfetto", float(ten["slices/s"]) / 1e6, "M/s", float(ten["no-args"]) / 1e6, "M/s --no-args",
            ">= 2 M/s"),
        Row("memory of 10 times as many slices", float(ten["MiB"]), "MiB", float(one["MiB"]), "MiB one time",
            "the same")]


def otf2(b):
    if not b.has("bench_otf2"):
        return [Row("kernel to OTF2", None, "", note="left out: bench_otf2 was not built")]
    out = b.values([b.program("bench_otf2"), b.scratch])
    return [Row("kernel to OTF2 (submission and execution)", out["kernel"], "ns", out["alone"],
                "ns libotf2 alone, the same events", "<= 150 ns")]


def rocpd(b):
    if not b.has("bench_rocpd"):
        return [Row("operations to ROCpd", None, "", note="left out: bench_rocpd was not built")]
    out = b.values([b.program("bench_rocpd"), b.scratch])
    one, two = (os.path.join(b.scratch, name) for name in ("kymo0.db", "kymo1.db"))
    shutil.copy(one, two)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    b.run([b.program("kymo"), "summary", one, two])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [Row("operations to ROCpd, two arguments a call", out["write"], "M/s", out["write_alone"],
                "M/s SQLite alone, the same rows inserted", ">= 0.4 M/s"),
            Row("operations from ROCpd", out["read"], "M/s", out["read_alone"],
                "M/s SQLite alone, stepping through the rows", ">= 1 M/s"),
            Row("summary of two ROCpd databases of 300,000 operations", seconds, "s", None, "", "<= 0.3 s")]


def ranks(b):
    if not b.has("bench_ranks"):
        return [Row("ranks", None, "", note="left out: bench_ranks was not built")]
    print(b.run([b.program("bench_ranks")]))
    return []


def tools(b):
    modes = ["plain", "clocked", "ticked", "unwanted", "traced", "tools1", "reads", "tools2", "tools4",
             "external", "stopped", "exits"]
    plain, clocked, ticked, alone, record, one, reads, two, four, external, stopped, exits = medians(9, [
        lambda m=m: b.call("-s", "0.3", m)["cpu_ns"] for m in modes])
    return [
        Row("call and an empty tool called back", one, "ns", alone, "ns call without a tool"),
        Row("call and a tool that reads its 4 arguments", reads, "ns", alone, "ns call without a tool"),
        Row("call and its record in a buffer", record, "ns", alone, "ns call without a tool"),
        Row("empty callbacks against a record", one - plain, "ns", record - plain, "ns the record"),
        Row("empty callback at exit alone against a record", exits - plain, "ns", record - plain,
            "ns the record", "<= 1.3"),
        Row("call with an empty tool called back", one - plain, "ns", clocked,
            "ns pointer call, two clocks", "<= 2"),
        Row("same, against the processor's counter", one - plain, "ns", ticked,
            "ns pointer call, two ticks"),
        Row("second tool adds", two - one, "ns", one - plain, "ns the first", "<= 1"),
        Row("third and fourth tool add, each", (four - two) / 2, "ns", one - plain,
            "ns the first", "<= 1"),
        Row("external id pushed and popped", external - plain, "ns", mark="<= 10 ns"),
        Row("context of a tool stopped", stopped - plain, "ns", mark="<= 1 ns"),
    ]


def buffer(b):
    out = b.values([b.program("bench_buffer")])
    drained = b.values([b.program("kymo"), "run", "--no-summary", "--no-compress", "-o",
                        b.trace("buffer"), "--", b.program("bench_buffer"), "-r", "drain", "-s",
                        "0.1", "-c", "0"])
    shutil.rmtree(os.path.join(b.scratch, "buffer.kymo"))
    rows = []
    for name, what in (("private", "record for a tool in the process"), ("batch", "same, batches")):
        for unit, how in (("cpu", "its thread"), ("all", "delivery included")):
            rows.append(Row(f"{what}, {how}", out[f"{name}_1_{unit}"], "ns",
                            out[f"shared_1_{unit}"], "ns shared, thrown away",
                            "<= 1.3" if unit == "cpu" else ""))
        rows.append(Row(f"{what}, by the clock", drained[f"{name}_1_ns"], "ns",
                        drained["shared_1_ns"], "ns shared, drain", "<= 1.3"))
        rows.append(Row(f"{what}, 8 threads", out[f"{name}_8_cpu"], "ns", out[f"{name}_1_cpu"],
                        "ns with one", "<= 1"))
    rows.append(Row(f"memory after {out['long_calls'] / 1e6:.0f} M records", out["long_late_mib"],
                    "MiB", out["long_early_mib"], "MiB after a tenth", "<= 1"))
    return rows


def under_kymo(b, program, *options, env=None, arguments=()):
    """The program's own figures, recorded."""
    r = b.values([b.program("kymo"), "run", "--no-summary", "--no-compress", *options, "-o",
                  b.trace("annotated"), "--", program, *arguments], env=env)
    shutil.rmtree(os.path.join(b.scratch, "annotated.kymo"))
    return r


def annotations(b):
    program = b.program("bench_annotation")
    roctx = os.path.join(os.path.dirname(b.bin), "lib/kymo/rocm/librocprofiler-sdk-roctx.so.1")
    plain = b.values([program, roctx])
    traced = [under_kymo(b, program, arguments=[roctx]) for _ in range(5)]
    return [Row(f"{name} push+pop, traced", statistics.median(r[key] for r in traced), "ns",
                plain[key] if plain[key] >= 0 else None, "ns without Kymo", "<= 60 ns")
            for name, key in (("NVTX", "nvtx"), ("ITT task", "itt"), ("ROCTx", "roctx"),
                              ("Kokkos region", "kokkos"))]


def functions(b):
    """A function that is patched in memory (--functions), or in its file (kymo instrument)."""
    if not b.has("bench_function"):
        return [Row("functions", None, "", note="left out: bench_function was not built")]
    program, patched = b.program("bench_function"), os.path.join(b.scratch, "bench_function")
    leaf = ["--functions", "bench_leaf"]
    b.run([b.program("kymo"), "instrument", program, "-o", patched, *leaf])
    plain, alone, disk, traced, counted, short, other = medians(9, [
        lambda: b.values([program])["median"], lambda: b.values([patched])["median"],
        lambda: under_kymo(b, patched)["median"],
        lambda: under_kymo(b, program, *leaf)["median"],
        lambda: under_kymo(b, program, *leaf, "--mode", "summary")["median"],
        lambda: under_kymo(b, program, *leaf, "--functions-min", "1s")["median"],
        lambda: under_kymo(b, program, "--functions", "main")["median"]])
    return [
        Row("function, traced", traced - plain, "ns", mark="<= 60 ns"),
        Row("function, counted (mode summary)", counted - plain, "ns", mark="<= 60 ns"),
        Row("function, too short to be recorded", short - plain, "ns", mark="<= 60 ns"),
        Row("function that is not chosen", other - plain, "ns", mark="0"),
        Row("function, patched on disk, traced", disk - plain, "ns", mark="<= 60 ns"),
        Row("function, patched on disk, without Kymo", alone - plain, "ns"),
    ]


def openmp(b):
    if not b.has("bench_openmp"):
        return [Row("OpenMP region", None, "", note="left out: no clang with OpenMP")]
    program = b.program("bench_openmp")
    floor = os.path.join(os.path.dirname(b.bin), "lib", "libbench-openmp-floor.so")
    rows = []
    for threads in {1, min(2, b.cores)}:
        env = {"OMP_NUM_THREADS": str(threads)}
        empty = dict(env, OMP_TOOL_LIBRARIES=floor)
        ways = {"an empty tool": lambda: b.values([program], env=empty),
                "an empty tool, callbacks of regions":
                    lambda: b.values([program], env=dict(empty, BENCH_OMPT="regions")),
                "an empty tool, callbacks of regions and tasks":
                    lambda: b.values([program], env=dict(empty, BENCH_OMPT="threads")),
                "mode minimal": lambda: under_kymo(b, program, "--mode", "minimal", env=env),
                "mode default": lambda: under_kymo(b, program, env=env),
                "mode full": lambda: under_kymo(b, program, "--mode", "full", env=env)}
        turns = [(b.values([program], env=dict(env, OMP_TOOL="disabled")),
                  {w: f() for w, f in ways.items()}) for _ in range(5)]
        plain = min(t[0]["best"] for t in turns)
        rows += [Row(f"empty OpenMP region, threads {threads}, {w}",
                     min(t[1][w]["best"] for t in turns), "ns", plain, "ns without a tool",
                     "<= 1.05" if w.startswith("mode") else "") for w in ways]
    return rows


# ---- MPI ----

MPI_WHAT = {"rank": ("MPI_Comm_rank", 300000, "<= 40 ns"),
            "exchange": ("Irecv, Isend, Waitall: 3 calls, 2 messages", 100000, "<= 250 ns"),
            "sendrecv": ("Sendrecv: 1 call, 2 messages", 100000, ""),
            "allreduce": ("Allreduce over MPI_COMM_SELF", 100000, ""),
            "test": ("Test that finds nothing", 100000, "")}
MPI_WAYS = {"default": (), "mode summary": ("--mode", "summary"), "-x '^MPI_'": ("-x", "^MPI_")}


def mpi_recorded(b, program, options, arguments):
    """One run of bench_mpi with Kymo. What was called is recorded or counted as lost, unless it is excluded."""
    trace = b.trace("mpi")
    r = b.values([b.program("kymo"), "run", "--no-summary", "--no-compress", "-o", trace, *options, "--",
                  program, *arguments])
    told = json.loads(b.run([b.program("kymo"), "summary", "-f", "json", trace]))["tables"]
    shutil.rmtree(trace, ignore_errors=True)
    rows = {t["name"]: t["rows"] for t in told}
    messages = sum(row["calls"] for row in rows.get("messages", ()))
    lost = rows["quality"][0]["lost_records"]
    if "-x" not in options and not r["messages"] <= messages + lost <= r["messages"] + lost + 1:
        raise SystemExit(f"{program} {arguments}: {r['messages']:.0f} messages, {messages} recorded, {lost} lost")
    return r["cpu_ns"]


def mpi_of(b, name):
    program, rows = b.program(f"bench_mpi.{name}"), []
    peer = os.path.join(os.path.dirname(b.bin), "lib", f"libbench-mpi-peer.{name}.so")
    env = {"OMPI_MCA_btl": "self,vader", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    os.environ.update(env)
    for what, (title, rounds, mark) in MPI_WHAT.items():
        plain, clocks, *ways = medians(5, [
            lambda: b.values([program, what, rounds])["cpu_ns"],
            lambda: b.values([program, what, rounds], env={"LD_PRELOAD": peer})["cpu_ns"],
            *[lambda o=o: mpi_recorded(b, program, o, [what, rounds]) for o in MPI_WAYS.values()]])
        rows += [Row(f"{name}: {title}, {way}", ns - plain, "ns", clocks - plain, "ns clocks alone",
                     mark if way == "default" else "", f"untraced {plain:.0f} ns")
                 for way, ns in zip(MPI_WAYS, ways)]
    for what in ("same", "distinct"):
        counts = (1000, 100000)
        few, many = (p[1] - p[0] for p in (medians(3, [
            lambda n=n: b.values([program, what, 200000, n])["cpu_ns"],
            lambda n=n: mpi_recorded(b, program, (), [what, 200000, n])]) for n in counts))
        rows.append(Row(f"{name}: transfer and its end, {counts[1]} under way, handles {what}", many, "ns", few,
                        f"ns, {counts[0]} under way"))
    return rows


def mpi(b):
    """Processor time of one rank; against a library between program and MPI that reads the clock twice a call."""
    names = [n for n in ("openmpi", "mpich") if b.has(f"bench_mpi.{n}")]
    if not names:
        return [Row("MPI", None, "", note="left out: no compiler of an MPI")]
    return [row for n in names for row in mpi_of(b, n)]


ALL = [annotations, openmp, call, functions, tools, buffer, lttng, busy, kernels, arguments, fixed, reading, ingest, perfetto, otf2, rocpd, ranks, mpi]
