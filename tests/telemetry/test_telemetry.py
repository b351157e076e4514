#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Telemetry of whole programs: test_telemetry.py KYMO FAKES WHAT.

FAKES is the folder of the libraries that are fakes of NVML, ROCm-SMI and Sysman; files of the
kernel are the real ones or a tree of our own (KYMO_TELEMETRY_ROOT)."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import kymotest  # noqa: E402
import page_file  # noqa: E402
from kymotest import SKIPPED, wait_for  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TESTS, "cuda"))
from scenes import SCENES  # noqa: E402


def run(*words, status=0, env=None, **options):
    p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                       env=dict(os.environ, **(env or {})), **options)
    assert status is None or p.returncode == status, (words, p.returncode, p.stdout, p.stderr)
    return p


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    data = text if isinstance(text, bytes) else text.encode()
    os.pwrite(fd, data, 0)
    os.ftruncate(fd, len(data))
    os.close(fd)


class Test:
    def __init__(self, kymo, fakes, folder):
        self.kymo, self.fakes, self.folder = kymo, fakes, folder
        self.trace = os.path.join(folder, "t.kymo")
        self.gpus = {"LD_LIBRARY_PATH": fakes}

    def record(self, *program, env=None, status=0, ms=10, trace=None):
        return run(self.kymo, "run", "-f", f"--telemetry={ms}", "-o", trace or self.trace, "--", *program,
                   env=env, status=status)

    def rows(self, name, trace=None):
        report = json.loads(run(self.kymo, "summary", "--format", "json", trace or self.trace).stdout)
        return [r for t in report["tables"] if t["name"] == name for r in t["rows"]]

    def one(self, counter, device=None, trace=None):
        rows = [r for r in self.rows("telemetry", trace) if r["counter"] == counter and
                device in (None, r["device"])]
        assert len(rows) == 1, (counter, device, rows)
        return rows[0]

    def query(self, sql, trace=None):
        return json.loads(run(self.kymo, "query", "--format", "json", trace or self.trace, sql).stdout)

    # ---- the program's processes, from the real /proc ----

    def program(self):
        spin = "import time\nx = bytearray(200 << 20)\nbegun = time.process_time()\nwhile time.process_time() < begun + 0.6: pass\nprint(time.process_time())"
        own = float(self.record(sys.executable, "-c", spin).stdout)
        spent = self.one("job.cpu_time")["total"]
        # Readings are 10 ms apart, and the interpreter's end, and Kymo's, come after it has said how much it had.
        assert own - 0.05 <= spent <= own + 0.2, (own, spent)
        rss = self.one("job.rss")
        assert rss["unit"] == "MiB" and 200 <= rss["max"] <= 300 and rss["min"] > 0, rss
        assert self.one("job.faults.minor")["total"] >= (200 << 20) // 4096, self.one("job.faults.minor")
        assert self.one("job.processes")["max"] == 1
        busy = self.one("cpu.utilisation")
        assert 0 < busy["average"] <= 100 and busy["samples"] >= 10, busy
        # The same from the store, and each value between two readings of the clock.
        store = self.query("SELECT sum(value) AS s, count(*) AS n, min(duration) AS d FROM counters "
                           "WHERE name = 'job.cpu_time'")[0]
        assert abs(store["s"] - spent) < 1e-6 and store["d"] > 0, (store, spent)
        assert self.query("SELECT count(*) AS n FROM process WHERE telemetry")[0]["n"] == 1
        report = run(self.kymo, "summary", self.trace)
        assert re.search(r"\d s, 0 processes, 0 threads, ", report.stdout), report.stdout
        idle = self.record("sleep", "0.3")
        assert "nothing was recorded" not in idle.stderr or "Telemetry" in idle.stderr, idle.stderr
        assert "Telemetry" in idle.stderr and self.one("job.cpu_time")["total"] < 0.1

    def children(self):
        """Children that live shorter than readings are apart: their parent has waited for all that they did."""
        program = ("import os, sys, time, resource\nfor i in range(12):\n  pid = os.fork()\n  while pid == 0:\n"
                   "    if time.process_time() > 0.05: os._exit(0)\n  os.waitpid(pid, 0)\n"
                   "me, them = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)\n"
                   "print(me.ru_utime + me.ru_stime, them.ru_utime + them.ru_stime, me.ru_minflt + them.ru_minflt)\n"
                   "sys.stdout.flush(); time.sleep(0.2); os._exit(0)")
        p = self.record(sys.executable, "-c", program)
        own, theirs, faults = (float(x) for x in p.stdout.split())
        assert theirs > 0.4, p.stdout
        spent = self.one("job.cpu_time")["total"]
        assert own + theirs - 0.02 <= spent <= own + theirs + 0.1, (spent, own, theirs)
        seen = self.one("job.faults.minor")["total"]
        assert faults - 5 <= seen <= faults + 100, (seen, faults)
        busy = self.one("job.cpu")
        assert busy["average"] <= 110, busy

    def attached(self):
        """What a process did before Kymo came is none of the recording's. One that began 2 s before counts as a whole."""
        program = ("import sys, time\nwhile time.process_time() < 1.5: pass\ntime.sleep(2.5)\nprint('old', flush=True)\n"
                   "sys.stdin.read()")
        with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
            assert p.stdout.readline() == "old\n"
            run(self.kymo, "attach", "--no-summary", "--telemetry=10", "--duration=300ms", "-o", self.trace, str(p.pid))
            p.communicate("")
        spent = self.one("job.cpu_time")
        assert spent["total"] < 1 and spent["samples"] > 2, spent

    def outside(self):
        """The program has its own CPUs, descriptors and threads; the sampler goes where it may."""
        look = r"""
import os, sys, time
parent = os.getppid()
def sampler():
    for task in os.listdir(f"/proc/{parent}/task"):
        with open(f"/proc/{parent}/task/{task}/comm") as f:
            if f.read().strip() == "kymo-telemetry":
                return task
for _ in range(500):
    if sampler():
        break
    time.sleep(0.01)
time.sleep(0.05)
with open(f"/proc/{parent}/task/{sampler()}/status") as f:
    wide = [l.split()[1] for l in f if l.startswith("Cpus_allowed_list")][0]
print(sorted(os.sched_getaffinity(0)), len(os.listdir("/proc/self/task")),
      sorted(os.readlink(f"/proc/self/fd/{i}") for i in os.listdir("/proc/self/fd")
             if os.path.exists(f"/proc/self/fd/{i}")), file=sys.stdout)
print(wide, file=open(sys.argv[1], "w"))
"""
        narrow = ["taskset", "-c", "0"]
        if run("sh", "-c", "command -v taskset", status=None).returncode:
            return SKIPPED
        out = os.path.join(self.folder, "wide")
        p = run(*narrow, self.kymo, "run", "--no-summary", "--telemetry=10", "-o", self.trace, "--",
                sys.executable, "-c", look, out, stdin=subprocess.DEVNULL)
        affinity = p.stdout.splitlines()[0]
        assert affinity.startswith("[0] 1 ") and "telemetry" not in affinity, p.stdout
        assert "nvidia" not in affinity and ".kyr" not in affinity, affinity
        wide = open(out).read().strip()
        whole = os.sched_getaffinity(0)
        assert len(whole) == 1 or wide != "0", wide
        return 0

    def window(self):
        """Nothing is read before --telemetry-delay nor after --telemetry-duration; two values of two sources."""
        self.record("sh", "-c", "sleep 4")
        whole = self.query("SELECT name, count(*) AS n FROM counters WHERE name IN ('job.rss', 'cpu.utilisation') GROUP BY 1")
        run(self.kymo, "run", "-f", "--threads", "--telemetry=10", "--telemetry-delay", "1s", "--telemetry-duration", "1s",
            "-o", self.trace, "--", "sh", "-c", "sleep 4")
        rows = self.query("SELECT c.name, min(c.time) AS first, max(c.time) AS last, count(*) AS n, (SELECT min(start) FROM process "
                          "WHERE NOT telemetry) AS began FROM counters c WHERE c.name IN ('job.rss', 'cpu.utilisation') GROUP BY 1")
        assert len(rows) == len(whole) == 2, (rows, whole)
        for row, all_along in zip(rows, whole):
            assert 0.8e9 <= row["first"] - row["began"], row
            assert row["last"] - row["first"] <= 2e9, row
            assert 10 <= row["n"] < all_along["n"], (row, all_along)
        said = run(self.kymo, "run", "-f", "--telemetry", "--telemetry-delay", "1h", "-o", self.trace, "--", "true").stderr
        assert "the program ended before --telemetry-delay was over" in said, said
        said = run(self.kymo, "run", "-f", "--telemetry-duration", "1s", "-o", self.trace, "--", "true", status=2).stderr
        assert "--telemetry-delay and --telemetry-duration go with --telemetry" in said, said

    def ranks(self):
        """Three launchers of one job on this node: one samples, for all their processes."""
        ready, go = os.path.join(self.folder, "ready"), os.path.join(self.folder, "go")
        program = f"import os, time\nopen({ready!r} + str(os.getpid()), 'w')\n" \
                  f"while not os.path.exists({go!r}): time.sleep(0.01)"
        ranks = []
        for rank in range(3):
            env = dict(os.environ, KYMO_JOB=f"job{os.getpid()}", PMI_RANK=str(rank), PMI_SIZE="3")
            ranks.append(subprocess.Popen([self.kymo, "run", "--telemetry=10", "-o", self.trace, "--",
                                           sys.executable, "-c", program], env=env,
                                          stderr=subprocess.PIPE, text=True))
        wait_for(lambda: len(glob.glob(ready + "*")) == 3, "three programs")
        raw = os.path.join(self.trace, "raw")
        size = lambda: sum(os.path.getsize(f) for f in glob.glob(raw + "/*-telemetry-*.kyr"))  # noqa: E731
        for _ in range(2):
            before = size()
            wait_for(lambda: size() > before, "a second of telemetry")
        assert len(glob.glob(raw + "/*-telemetry-*.kyr")) == 1, os.listdir(raw)
        # On a busy machine the sampler looks for the job's processes late.
        most = lambda: max([r["max"] for r in self.rows("telemetry") if r["counter"] == "job.processes"], default=0)  # noqa: E731
        wait_for(lambda: most() >= 3, "all three are seen")
        put(go, "")
        for p in ranks:
            assert p.wait(60) == 0, p.stderr.read()
        assert most() == 3
        pids = {r["instance"] for r in self.rows("telemetry") if r["counter"] == "process.rss"}
        assert len(pids) == 3, pids

    def killed(self):
        """A launcher that is killed leaves what it read until a second before."""
        stay = os.path.join(self.folder, "stay")
        p = subprocess.Popen([self.kymo, "run", "--telemetry=10", "-o", self.trace, "--", sys.executable, "-c",
                              f"import os, time\nopen({stay!r}, 'w').write(str(os.getpid()))\n"
                              "time.sleep(60)"], stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(stay) and open(stay).read(), "the program")
        name = self.trace + "/raw/*-telemetry-0.kyr"
        wait_for(lambda: glob.glob(name), "its telemetry")
        first = os.path.getsize(glob.glob(name)[0])
        wait_for(lambda: os.path.getsize(glob.glob(name)[0]) > first + 4096, "a second of it")
        os.kill(p.pid, signal.SIGKILL)
        p.wait()
        os.kill(int(open(stay).read()), signal.SIGKILL)
        manifest = os.path.join(self.trace, "manifest.json")
        wait_for(lambda: '"complete": true' in open(manifest).read() or
                 "lost_records" in open(manifest).read(), "the drain's end")
        report = run(self.kymo, "summary", self.trace).stdout
        assert "has no end" in report and "damaged" not in report, report
        assert self.one("job.rss")["samples"] >= 5

    # ---- trees of our own ----

    def tree(self, energy="000005000000\n"):
        root = os.path.join(self.folder, "root")
        os.makedirs(root, exist_ok=True)
        if not os.path.islink(root + "/proc"):
            os.symlink("/proc", root + "/proc")
        zone = root + "/sys/class/powercap/intel-rapl:0/"
        put(zone + "name", "package-0\n")
        put(zone + "energy_uj", energy)
        put(zone + "max_energy_range_uj", "6000000\n")
        put(root + "/sys/class/hwmon/hwmon0/name", "k10temp\n")
        put(root + "/sys/class/hwmon/hwmon0/temp1_input", "45000\n")
        return root, zone

    # A program that uses energy: 0.1 J of a counter that wraps at 6 J, forty times.
    USER = """import os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY)
for i in range(1, 41):
    os.pwrite(fd, b"%012d" % ((5000000 + 100000 * i) % 6000000), 0)
    time.sleep(0.01)
"""

    def energy(self):
        root, zone = self.tree()
        self.record(sys.executable, "-c", self.USER, zone + "energy_uj", env={"KYMO_TELEMETRY_ROOT": root})
        energy, power = self.one("energy"), self.one("power")
        # Begun at 5, 4 J used; what the first reading came too late for is missing.
        assert energy["unit"] == "J" and 3.0 <= energy["total"] <= 4.01, energy
        assert power["max"] > 0 and power["min"] >= 0, power
        assert self.one("temperature.1")["average"] == 45
        assert self.query("SELECT DISTINCT agent_name AS a FROM counters WHERE name = 'energy'") == \
            [{"a": "CPU package 0"}]

    # A program on several networks: what each counted grows by these, ten times.
    SENDER = """import glob, os, sys, time
files = {path: (int(begin), int(step)) for path, begin, step in (w.split("=") for w in sys.argv[3:])}
def written():
    return sum(map(os.path.getsize, glob.glob(sys.argv[2] + "/raw/*-telemetry-*.kyr")))
def await_readings():
    before = written()
    while written() == before:
        time.sleep(0.01)
await_readings()
await_readings() # those of the first second, or what there was before it
for i in range(1, 11):
    for path, (begin, step) in files.items():
        with open(sys.argv[1] + path, "r+") as f:
            f.write(f"{begin + i * step}" + ("@1700000000.000000001" if "cxi" in path else ""))
await_readings()
await_readings()
"""

    def networks(self):
        """Interfaces, two ports of one adapter, one of another, and Slingshot: each is a device of its own."""
        root, _ = self.tree()
        eth, down = root + "/sys/class/net/eth0/", root + "/sys/class/net/eth1/"
        for interface, state in ((eth, "up"), (down, "down")):
            put(interface + "operstate", state + "\n")
            put(interface + "statistics/rx_bytes", "1000\n")
            put(interface + "statistics/tx_errors", "5\n")
        ib = "/sys/class/infiniband/mlx5_{}/ports/{}/counters/{}"
        for adapter, port in ((0, 1), (0, 2), (1, 1)):
            put(root + ib.format(adapter, port, "port_rcv_data"), "1000\n")
            put(root + ib.format(adapter, port, "port_xmit_packets"), "1000\n")
        cxi = "/sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets"
        put(root + cxi, "1000@1700000000.123456789\n")
        put(root + "/sys/class/cxi/cxi0/device/telemetry/hni_sts_rx_ok_octets", "none\n")
        steps = [("/sys/class/net/eth0/statistics/rx_bytes", 7), ("/sys/class/net/eth1/statistics/rx_bytes", 7),
                 (ib.format(0, 1, "port_rcv_data"), 11), (ib.format(0, 2, "port_rcv_data"), 13),
                 (ib.format(1, 1, "port_rcv_data"), 17), (ib.format(1, 1, "port_xmit_packets"), 19), (cxi, 23)]
        env = {"KYMO_TELEMETRY_ROOT": root}
        self.record(sys.executable, "-c", self.SENDER, root, self.trace, *(f"{path}=1000={step}" for path, step in steps), env=env)
        told = {(r["device"], r["counter"]): (r["unit"], r["total"]) for r in self.rows("telemetry")
                if r["counter"].split(".")[0] in ("net", "ib", "cxi")}
        scale = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}
        for place, most in {("eth0", "net.received"): 70, ("mlx5_0 port 1", "ib.received"): 4 * 110,
                            ("mlx5_0 port 2", "ib.received"): 4 * 130, ("mlx5_1 port 1", "ib.received"): 4 * 170,
                            ("mlx5_1 port 1", "ib.packets.sent"): 190, ("cxi0", "cxi.sent"): 230}.items():
            unit, total = told.pop(place)
            total *= scale.get(unit, 1)
            assert abs(total - most) < 0.01, (place, unit, total, most)
            assert unit in scale or "packets" in place[1], (place, unit)
        assert all(total == 0 for _, total in told.values()), told
        assert not any(device == "eth1" or counter == "cxi.received" for device, counter in told), told
        text = run(self.kymo, "list", "telemetry", env=env).stdout
        assert "mlx5_0 port 2" in text and "net: networks: " in text and "; 9 values" in text, text
        missing = run(self.kymo, "list", "telemetry", env={"KYMO_TELEMETRY_ROOT": "/nonexistent"}, status=None).stdout
        assert "net: not here: no network" in missing, missing

    # Steps, after each of which the sampler has read, looked around, and written that down.
    STEPS = """import glob, json, os, sys, time
def written():
    return sum(map(os.path.getsize, glob.glob(sys.argv[2] + "/raw/*-telemetry-*.kyr")))
def await_readings():
    for _ in range(2):
        before = written()
        while written() == before:
            time.sleep(0.01)
def put(path, text):
    data = text.encode("latin-1")
    fd = os.open(root + path, os.O_WRONLY | os.O_CREAT, 0o666)
    os.pwrite(fd, data, 0)
    os.ftruncate(fd, len(data))
    os.close(fd)
root = sys.argv[1]
await_readings()
for step in json.load(open(sys.argv[3])):
    for what, path, *more in step:
        if what == "put":
            put(path, more[0])
        elif what == "count": # each value is there for a while
            for value in more[0]:
                put(path, "%010d\\n" % value)
                time.sleep(0.002)
        elif what == "move":
            os.rename(root + path, root + more[0])
    await_readings()
"""

    def steps(self, root, steps):
        plan = os.path.join(self.folder, "plan")
        put(plan, json.dumps(steps))
        return self.record(sys.executable, "-c", self.STEPS, root, self.trace, plan, env={"KYMO_TELEMETRY_ROOT": root})

    def totals(self):
        scale = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}
        return {(r["device"], r["counter"]): round((r["total"] or 0) * scale.get(r["unit"], 1), 3) for r in self.rows("telemetry")}

    def links(self):
        """InfiniBand's narrow counters that wrap, are cleared, are full; its wide ones and the adapter's own; what links are."""
        root, _ = self.tree()
        port = "/sys/class/infiniband/mlx5_{}/ports/{}/"
        a, b, c = port.format(0, 1), port.format(0, 2), port.format(1, 1)
        for x in (a, b, c):
            put(root + x + "rate", "100 Gb/sec (4X EDR)\n")
            put(root + x + "state", "4: ACTIVE\n")
        put(root + b + "rate", "2.5 Gb/sec (1X SDR)\n")
        put(root + a + "counters/port_rcv_data", "4294967290\n")
        put(root + b + "counters/port_rcv_data", "3000000000\n")
        put(root + c + "counters/port_rcv_data", "4294967295\n")
        put(root + c + "counters_ext/port_rcv_data_64", "5000000000\n")
        put(root + c + "counters/symbol_error", "65534\n")
        odd = "bad\x1b[31m \n<name>"
        for x, name in ((a, "out_of_sequence"), (b, "out_of_sequence"), (a, odd), (a, "lifespan")):
            put(root + x + "hw_counters/" + name, "0000000100\n")
        p = self.steps(root, [
            [["count", a + "counters/port_rcv_data", [(4294967290 + 3 * i) % (1 << 32) for i in range(1, 11)]],
             ["count", b + "counters/port_rcv_data", [3000000005]],
             ["count", c + "counters_ext/port_rcv_data_64", [5000000000 + 7 * i for i in range(1, 11)]],
             ["count", a + "hw_counters/out_of_sequence", [105]], ["count", b + "hw_counters/out_of_sequence", [107]],
             ["count", a + "hw_counters/" + odd, [102]], ["count", a + "hw_counters/lifespan", [200]],
             ["put", c + "counters/symbol_error", "65535\n"]],
            [["count", b + "counters/port_rcv_data", [10]], ["put", b + "state", "1: DOWN\n"],
             ["count", c + "counters/symbol_error", [3]]],
            [["count", b + "counters/port_rcv_data", [25]], ["count", c + "counters/symbol_error", [5]]]])
        told = self.totals()
        a, b, c = "mlx5_0 port 1", "mlx5_0 port 2", "mlx5_1 port 1"
        assert told[a, "ib.received"] == 4 * 30, told  # over 2^32
        assert told[b, "ib.received"] == 4 * 20, told  # not 2^32 less: it was cleared
        assert told[c, "ib.received"] == 4 * 70, told  # of 64 bits
        assert told[a, "ib.hw.out_of_sequence"] == 5 and told[b, "ib.hw.out_of_sequence"] == 7, told
        assert told[a, "ib.hw.bad??31m???name?"] == 2 and not any("lifespan" in n for _, n in told), told
        assert told[c, "ib.errors.symbol"] == 2, told  # what it counted when it was full is not known
        notes = " ".join(r["text"] for r in self.query("SELECT text FROM note"))
        assert f"{c}: ib.errors.symbol could not be read: the counter is full" in notes, notes
        assert f"{b}: ib.received could not be read: the count began anew" in notes and f"{a}: " not in notes, notes
        assert "\x1b" not in p.stderr, p.stderr
        assert self.one("ib.speed", a)["last"] == 100000 and self.one("ib.speed", b)["max"] == 2500, told
        state = self.one("ib.carrier", b)
        assert state["max"] == 1 and state["last"] == 0 and self.one("ib.carrier", c)["min"] == 1, state

    def comings(self):
        """Interfaces that appear, go away, come back, and are replaced by others of their name: told, never a wrong difference."""
        root, _ = self.tree()
        net = "/sys/class/net/"
        for i in range(5):
            put(f"{root}{net}eth{i}/ifindex", f"{i + 2}\n")
            put(f"{root}{net}eth{i}/statistics/rx_bytes", "0000000100\n")
        put(f"{root}{net}eth0/carrier", "1\n")
        put(f"{root}{net}eth0/speed", "25000\n")
        put(f"{root}{net}eth1/operstate", "down\n")
        put(f"{root}{net}eth1/speed", "-1\n")
        for name, count in (("away/eth2", 5000), ("away/eth3", 9000), ("away/eth5", 70)):
            put(f"{root}/{name}/ifindex", "99\n")
            put(f"{root}/{name}/statistics/rx_bytes", "%010d\n" % count)
        rx = "/statistics/rx_bytes"
        self.steps(root, [
            [["count", net + "eth2" + rx, [105]], ["put", net + "eth1/operstate", "up\n"], ["put", net + "eth0/carrier", "0\n"],
             ["put", net + "eth0/speed", "10000\n"], ["move", "/away/eth5", net + "eth5"], ["move", net + "eth4", "/away/eth4"]],
            [["move", net + "eth2", "/away/eth2.old"], ["move", net + "eth3", "/away/eth3.old"], ["move", "/away/eth3", net + "eth3"],
             ["count", net + "eth1" + rx, [150]], ["count", net + "eth5" + rx, [71]]],
            [["move", "/away/eth2", net + "eth2"], ["count", net + "eth3" + rx, [9003]]],
            [["count", net + "eth2" + rx, [5007]]]])
        told = self.totals()
        assert {d: n for (d, c), n in told.items() if c == "net.received" and n} == {
            "eth1": 50, "eth2": 12, "eth3": 3, "eth5": 1}, told
        notes = [r["text"] for r in self.query("SELECT text FROM note ORDER BY text") if r["text"].startswith("net: eth")]
        assert notes == ["net: eth1 appeared", "net: eth2 is there again", "net: eth2 went away", "net: eth3 is another one than before",
                         "net: eth4 went away", "net: eth5 appeared"], notes
        assert self.one("net.carrier", "eth0")["max"] == 1 and self.one("net.carrier", "eth0")["last"] == 0
        assert self.one("net.speed", "eth0")["max"] == 25000 and self.one("net.speed", "eth0")["last"] == 10000
        assert ("eth1", "net.speed") not in told, told

    def hostile_net(self):
        """What holds no count is left out, or a gap after which nothing is lost; names are as they may be."""
        root, _ = self.tree()
        names = ["rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_dropped", "tx_dropped", "rx_errors", "tx_errors"]
        garbage = ["", "-5\n", "9" * 1000 + "\n", "x\n", "1090 34\n", "1090\0\n", "1" * 70 + "\n", "18446744073709551616\n"]
        odd = "e\x1b[2J\n'\";<&>%s"
        for i, name in enumerate(names):
            put(f"{root}/sys/class/net/bad/statistics/{name}", garbage[i])
            for good in ("good", odd, "n" * 200):
                put(f"{root}/sys/class/net/{good}/statistics/{name}", "0000001000\n")
        path = "/sys/class/net/{}/statistics/{}"
        p = self.steps(root, [
            [["count", path.format("good", name), [1010]] for name in names] + [["count", path.format(odd, "rx_bytes"), [1004]]],
            [["put", path.format("good", name), garbage[i]] for i, name in enumerate(names)],
            [["count", path.format("good", name), [1030]] for name in names]])
        told = self.totals()
        assert [n for (d, c), n in sorted(told.items()) if d == "good"] == [30] * 8, told
        assert told["e?[2J?'\";<&>%s", "net.received"] == 4, told
        assert not any(d == "bad" for d, _ in told), told
        notes = [r["text"] for r in self.query("SELECT text FROM note") if "net: good: " in r["text"]]
        assert len(notes) == 8 and sum("it held no number" in n for n in notes) == 7 and sum("nothing to read" in n for n in notes) == 1, notes
        assert "\x1b" not in p.stderr, p.stderr
        listed = run(self.kymo, "list", "telemetry", env={"KYMO_TELEMETRY_ROOT": root}).stdout
        assert "\x1b" not in listed and "n" * 20 in listed, listed

    def disks(self):
        """What each of two disks, a mount of NFS and a Lustre client moved; partitions; what comes, goes, and is no line."""
        root, _ = self.tree()
        os.remove(root + "/proc")
        put(root + "/proc/stat", "cpu  1 0 0 1 0 0 0 0 0 0\n")

        def line(name, reads, sectors_read, writes, sectors_written, busy, waited):
            return f"   8  0 {name} {reads:08} 0 {sectors_read:010} 5 {writes:08} 0 {sectors_written:010} 5 0 {busy:010} {waited:010} 0 0 0 0\n"

        def stats(a, b, more=""):
            return line("sda", *a) + line("sda1", *a) + line("nvme0n1", *b) + line("loop0", 0, 0, 0, 0, 0, 0) + more

        def mounts(*n):
            return "device /dev/sda1 mounted on / with fstype ext4\n\n" \
                   "device server:/home mounted on /home dir with fstype nfs4 statvers=1.1\n\topts:\trw\n" \
                   "\tbytes:\t" + " ".join("%010d" % i for i in n) + " 1 1\n\tRPC iostats version: 1.1\n"

        def lustre(read, written):
            return f"snapshot_time 1.5 secs.nsecs\nread_bytes                {9:06} samples [bytes] 1 4096 {read:010} 9\n" \
                   f"write_bytes               {9:06} samples [bytes] 1 4096 {written:010} 9\nopen 5 samples [reqs]\n"
        put(root + "/sys/class/block/sda1/partition", "1\n")
        put(root + "/proc/diskstats", stats((100, 1000, 100, 1000, 4294967294, 10), (5, 50, 5, 50, 5, 5)))
        put(root + "/proc/self/mountstats", mounts(100, 100, 100, 100, 100, 100))
        client = "/proc/fs/lustre/llite/scratch-ffff8800/stats"
        put(root + client, lustre(1000, 1000))
        p = self.steps(root, [
            [["put", "/proc/diskstats", stats((103, 1016, 105, 1064, 0, 30), (7, 51, 5, 50, 5, 5))],
             ["put", "/proc/self/mountstats", mounts(110, 105, 103, 102, 107, 109)], ["put", client, lustre(1011, 1013)]],
            [["put", "/proc/diskstats", stats((1, 8, 1, 8, 1, 1), (7, 51, 6, 58, 5, 5), line("sdb", 900, 9000, 900, 9000, 1, 1))],
             ["move", client, "/proc/gone"]],
            [["put", "/proc/diskstats", "8 0 nonsense -1 2 3\n\n" + "8 0 " + "s" * 5000 + "\n" + line("sdb", 902, 9004, 900, 9000, 1, 1)]],
            [["put", "/proc/diskstats", stats((2, 16, 1, 8, 1, 1), (999, 9999, 999, 9999, 999, 999))]],
            [["put", "/proc/diskstats", ""]]])
        told = {k: n for k, n in self.totals().items() if k[1].split(".")[0] in ("disk", "fs")}
        want = {("sda", "disk.read"): 16 * 512, ("sda", "disk.written"): 64 * 512, ("sda", "disk.operations.read"): 3,
                ("sda", "disk.operations.written"): 5, ("nvme0n1", "disk.read"): 512, ("nvme0n1", "disk.written"): 8 * 512,
                ("nvme0n1", "disk.operations.read"): 2, ("nvme0n1", "disk.operations.written"): 1,
                ("sdb", "disk.read"): 4 * 512, ("sdb", "disk.operations.read"): 2,
                ("nfs /home dir", "fs.read"): 13, ("nfs /home dir", "fs.written"): 7, ("nfs /home dir", "fs.fetched"): 7,
                ("nfs /home dir", "fs.sent"): 9, ("lustre scratch-ffff8800", "fs.read"): 11, ("lustre scratch-ffff8800", "fs.written"): 13}
        assert {k: n for k, n in told.items() if n} == want, told
        assert not any(d in ("sda1", "loop0", "nonsense") for d, _ in told), told
        busy = self.one("disk.busy", "sda")
        assert 0 < busy["max"] <= 100 and self.one("disk.queue", "sda")["max"] > 0, busy
        assert not [r for r in self.rows("telemetry") if r["counter"] == "disk.busy" and r["device"] == "nvme0n1"]
        for name, ms in (("disk.busy", 2 * 100), ("disk.queue", 20)):  # over 2^32; while requests waited
            values = self.query(f"SELECT time, value FROM counters WHERE name = '{name}' AND agent_name = 'sda' ORDER BY 1")
            sum_ = sum(b["value"] * (b["time"] - a["time"]) for a, b in zip(values, values[1:])) / 1e6
            assert abs(sum_ - ms) < 0.05 * ms or any(v["value"] == 100 for v in values), (name, sum_, [v for v in values if v["value"]])
        notes = {r["text"] for r in self.query("SELECT text FROM note") if r["text"].startswith(("disk: ", "netfs: "))}
        for n in ("disk: sdb appeared", "disk: sda went away", "disk: sda is there again", "disk: nvme0n1 went away",
                  "netfs: lustre scratch-ffff8800 went away", "disk: sda: disk.busy could not be read: the count began anew"):
            assert n in notes, (n, notes)
        assert any("there was nothing to read" in n for n in notes), notes
        env = {"KYMO_TELEMETRY_ROOT": root}
        put(root + "/proc/diskstats", stats((100, 1000, 100, 1000, 1, 10), (5, 50, 5, 50, 5, 5)))
        run(self.kymo, "run", "-f", "--telemetry=10", "--telemetry-only", "disk:device=nvme0n1", "-o", self.trace, "--", "sleep", "0.3", env=env)
        assert {r["a"] for r in self.query("SELECT DISTINCT agent_name AS a FROM counters")} == {"nvme0n1"}
        p = run(self.kymo, "run", "--telemetry", "--telemetry-only", "disk:device=sda1", "--", "true", env=env, status=2)
        assert "disk has no device sda1; it has: 0 (sda), 1 (nvme0n1)" in p.stderr, p.stderr

    def loopback(self):
        """What went through the kernel's own interface, at least."""
        talk = """import socket, threading
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
a, _ = s.accept()
t = threading.Thread(target=lambda: [a.recv(1 << 16, socket.MSG_WAITALL) for _ in range(320)])
t.start()
for _ in range(320):
    c.sendall(b"x" * (1 << 16))
t.join()
"""
        if not os.path.exists("/sys/class/net/lo/statistics/rx_bytes"):
            return SKIPPED
        self.record(sys.executable, "-c", "import time; time.sleep(0.3)\n" + talk + "time.sleep(0.2)")
        for counter in ("net.received", "net.sent"):
            row = self.one(counter, "lo")
            assert row["unit"] == "MiB" and row["total"] >= 20, row
        return 0

    def hostile(self):
        garbage = [b"", b"\0" * 4096, b"\xff" * 100000, b"9" * 1000000, b"-5\n", b"1e400\n"]
        for i, bytes_ in enumerate(garbage):
            root, zone = self.tree()
            put(root + "/sys/class/hwmon/hwmon1/name", b"\x1b[31mevil\n" * 1000)
            put(root + "/sys/class/hwmon/hwmon1/temp1_input", bytes_)
            put(root + "/sys/class/hwmon/hwmon1/temp2_label", bytes_)
            put(root + "/sys/class/hwmon/hwmon1/temp2_input", b"1000\n")
            break_it = f"open({zone + 'energy_uj'!r}, 'wb').write({bytes_[:200]!r} * 3); import time; time.sleep(0.05)"
            p = self.record(sys.executable, "-c", break_it, env={"KYMO_TELEMETRY_ROOT": root})
            assert "\x1b" not in p.stderr, p.stderr
            # Either it was there at the first reading and then broke, or the program was quicker than that.
            assert "energy could not be read" in p.stderr or "energy_uj: it held no number" in p.stderr, (i, p.stderr)
        os.remove(zone + "energy_uj")
        os.mkfifo(zone + "energy_uj")
        p = self.record("true", env={"KYMO_TELEMETRY_ROOT": root})
        p = run(self.kymo, "doctor", env={"KYMO_TELEMETRY_ROOT": root}, status=None)
        assert "rapl: intel-rapl:0/energy_uj: it held no number" in p.stdout, p.stdout
        p = self.record("true", env={"KYMO_TELEMETRY_ROOT": "/nonexistent"})
        assert "/proc/stat" in p.stderr, p.stderr

    def everybodys_kymo(self):
        """A copy where another user may read it: the build may lie in a folder of root's own."""
        build = os.path.dirname(os.path.dirname(self.kymo))
        for name in ("bin", "lib"):
            os.mkdir(f"{self.folder}/{name}", 0o755)
        shutil.copy(self.kymo, f"{self.folder}/bin/kymo")
        for library in glob.glob(f"{build}/lib/libkymo*.so*"):
            shutil.copy(library, f"{self.folder}/lib", follow_symlinks=False)
        return f"{self.folder}/bin/kymo"

    def denied(self):
        if os.getuid() == 0 and not os.path.exists("/usr/bin/setpriv"):
            return SKIPPED
        root, zone = self.tree()
        os.chmod(zone + "energy_uj", 0)
        os.chmod(self.folder, 0o777)
        drop = ["setpriv", "--reuid=65534", "--clear-groups", "--"] if os.getuid() == 0 else []
        kymo = self.everybodys_kymo() if drop else self.kymo
        words = drop + [kymo, "run", "--telemetry=10", "-o", self.trace, "--", "true"]
        p = run(*words, env={"KYMO_TELEMETRY_ROOT": root, "XDG_RUNTIME_DIR": ""}, status=0, cwd=self.folder)
        assert len(re.findall("energy_uj: permission denied", p.stderr)) == 1, p.stderr
        doctor = run(*drop, kymo, "doctor", env={"KYMO_TELEMETRY_ROOT": root}, status=None)
        assert len(re.findall("energy_uj: permission denied", doctor.stdout)) == 1, doctor.stdout
        return 0

    # ---- vendors' libraries ----

    def nvml(self):
        self.record("sleep", "0.5", env=self.gpus, ms=100)
        rows = [r for r in self.rows("telemetry") if r["source"] == "nvml"]
        by = {(r["device"], r["counter"]): r for r in rows}
        first = "Fake GPU #0"
        assert by[first, "power"]["unit"] == "W" and 300 <= by[first, "power"]["min"] <= 301, by
        assert by[first, "temperature"]["last"] == 55 and by["Fake GPU #1", "temperature"]["last"] == 56
        assert by[first, "clock.sm"]["average"] == 1980 and by[first, "utilisation"]["max"] == 97
        assert by[first, "memory.used"]["max"] == 9 * 1024 and by[first, "memory.used"]["unit"] == "MiB"
        assert 0 < by[first, "throttled.power"]["average"] < 100, by[first, "throttled.power"]
        assert (first, "throttled.heat") not in by  # 0 throughout
        assert by[first, "power.instant"]["max"] == 310 and by[first, "temperature.memory"]["max"] == 61
        assert by[first, "pcie.sent.rate"]["max"] == 1 and by[first, "pcie.sent.rate"]["unit"] == "MiB/s"
        energy = self.query("SELECT count(*) AS n, sum(value) AS j, a.uuid AS uuid FROM counter_value v "
                            "JOIN counter c ON c.id = v.counter JOIN agent a ON a.id = c.agent "
                            "WHERE c.name = 'energy' AND c.provider = 'nvml' GROUP BY a.id")
        assert len(energy) == 2 and energy[0]["n"] >= 4, energy
        for e in energy:
            assert abs(e["j"] - 30 * e["n"]) < 1e-3, energy
        self.timeline()

    def timeline(self):
        """Counter tracks of the same values, as another decoder reads them."""
        out = os.path.join(self.folder, "t.pftrace")
        if run(self.kymo, "export", "--to", "perfetto", "-o", out, self.trace, status=None).returncode:
            print("no Perfetto export in this build")
            return
        done = run(sys.executable, "-B", os.path.join(TESTS, "golden", "perfetto_check.py"), out)
        report = json.loads(done.stdout)
        assert report["problems"] == [], report["problems"]
        tracks = report["tracks"]
        n = self.query("SELECT count(*) AS n FROM counters WHERE name = 'clock.sm'")[0]["n"]
        gpus = ["telemetry > gpu Fake GPU #%d > " % i for i in (0, 1)]
        for gpu in gpus: # two of one name, a track each
            clock = tracks[gpu + "clock.sm"]
            assert clock["unit"] == "MHz" and clock["min"] == 1980 and clock["lanes"] == 1, clock
            energy = tracks[gpu + "energy"]
            assert energy["unit"] == "J/s" and energy["max"] > 0, energy
        points = [tracks[gpu + "clock.sm"]["points"] for gpu in gpus]
        assert sum(points) == n, (points, n)
        assert "telemetry > job.rss" in tracks and tracks["telemetry > job.rss"]["unit"] == "bytes"
        points = self.query("SELECT count(*) AS n FROM counter_value")[0]["n"]
        assert report["totals"]["counter_points"] == points, (report["totals"], points)

    def faults(self):
        p = self.record("sleep", "1.2", env=dict(self.gpus, FAKE_NVML="lost"), ms=100)
        assert "Fake GPU: temperature could not be read: the GPU is lost (3 times)" in p.stderr, p.stderr
        heat = self.one("temperature", "Fake GPU #0")
        assert heat["min"] == heat["max"] == 55, heat  # gaps, no zeros
        other = self.one("temperature", "Fake GPU #1")
        assert other["samples"] == heat["samples"] + 3, (heat, other)
        energy = self.query("SELECT sum(value) AS j, max(duration) AS longest, min(duration) AS least "
                            "FROM counters WHERE name = 'energy' GROUP BY agent_name, id / 1000000")
        assert energy and energy[0]["longest"] > 3 * energy[0]["least"], energy
        p = self.record("true", env=dict(self.gpus, FAKE_NVML="denied"))
        assert "nvml: power: permission denied (2 times)" in p.stderr, p.stderr  # of each device
        p = self.record("true", env=dict(self.gpus, FAKE_NVML="mismatch"))
        assert "nvml: library and driver are of different versions" in p.stderr, p.stderr
        p = self.record("true", env=dict(self.gpus, FAKE_NVML="nodriver"))
        assert "nvml" not in "".join(l for l in p.stderr.splitlines() if "read less often" not in l), p.stderr  # there is none: nothing to warn of
        doctor = run(self.kymo, "doctor", env=dict(self.gpus, FAKE_NVML="nodriver"), status=None).stdout
        assert "nvml: the driver is not loaded" in doctor, doctor
        self.record("sleep", "0.5", env=dict(self.gpus, FAKE_NVML="old"), ms=100)
        old = self.one("energy", "Fake GPU #0")
        assert self.one("memory.used", "Fake GPU #0")["max"] == 10 * 1024
        assert 30 <= old["total"] <= 310, old  # 300 W over half a second or more
        begun = time.monotonic()
        p = self.record("sleep", "0.3", env=dict(self.gpus, FAKE_NVML="hang"), ms=100)
        assert time.monotonic() - begun < 10, "a driver that hangs held the launcher up"
        assert "did not come back" in p.stderr, p.stderr
        assert self.one("job.rss")["samples"] >= 2

    def plots(self):
        """Each sensor over time, in all forms: what it is called, its device, unit and numbers are those of the summary's table; gaps are where nothing was read."""
        self.record("sleep", "1.2", env=dict(self.gpus, FAKE_NVML="lost"), ms=20)
        page = os.path.join(self.folder, "t.html")
        run(self.kymo, "report", "-f", "-o", page, self.trace)
        head = page_file.Page(page).head
        rows = {(r["device"], r["counter"], r["instance"]): r for r in self.rows("telemetry")}
        curves = {}
        for c in head["curves"]:
            track = head["tracks"][c["track"]]
            assert c["kind"] == "telemetry" and c["counter"] == c["name"][:len(c["counter"])], c
            if c["min"] or c["max"]:
                instance = re.search(r" \[\w+ (\d+)\]$", c["of"])
                curves["node" if track["parent"] < 0 else track["label"], c["counter"], int(instance[1]) if instance else None] = c
        assert set(curves) == set(rows), (set(curves) ^ set(rows))
        for key, r in rows.items():
            c, mib = curves[key], 1 << 20 if r["unit"].startswith("MiB") else 1
            assert c["readings"] == r["samples"] and c["unit"].replace("bytes", "MiB") == r["unit"] + ("" if c["level"] or r["total"] is None else "/s"), (c, r)
            if c["level"]:
                got, wanted = (c["min"], c["sum"] / c["readings"], c["max"]), (r["min"], r["average"], r["max"])
            else:
                got, wanted = (c["sum"],), (r["total"],)
            assert all(abs(a / mib - b) <= 1e-9 * max(1, abs(b)) for a, b in zip(got, wanted)), (key, got, wanted)
        # Drawn: every reading of a device lies where its time and value say, and there is nothing where none was read.
        root = xml.etree.ElementTree.fromstring(run(self.kymo, "report", "--plot", "telemetry", "-o", "-", self.trace).stdout)
        space = "{http://www.w3.org/2000/svg}"
        lines = {}
        for line in root.iter(space + "polyline"):
            if line.find(space + "title") is not None:
                points = [tuple(float(v) for v in p.split(",")) for p in line.get("points").split()]
                lines.setdefault(line.find(space + "title").text, []).append(points)
        texts = [t.text for t in root.iter(space + "text")]
        assert "temperature, C" in texts and "power, W" in texts, texts
        for (device, counter, _), r in rows.items():
            if r["unit"] in ("W", "C", "MHz") and device != "node":
                told = [[float(x) for x in re.findall(r"(?:min|mean|max) ([\d.e+]+) " + r["unit"], k)] for k in lines if k.startswith(device + ": ")]
                assert any(len(t) == 3 and all(abs(a - b) <= 6e-4 * b for a, b in zip(t, (r["min"], r["average"], r["max"]))) for t in told), (device, counter, r, told)
        # By the marks of the axis below the panels.
        axis = sorted({(float(t.get("x")), float(t.text.split()[0]) * {"s": 1, "ms": 1e-3}[t.text.split()[1]]) for t in root.iter(space + "text") if re.fullmatch(r"[\d.]+ m?s", t.text or "") and t.get("text-anchor") == "middle"})
        zero, second = axis[0][0], (axis[-1][0] - axis[0][0]) / (axis[-1][1] - axis[0][1])
        end = (150 + 820 - zero) / second * 1e9
        assert axis[0] == (150, 0) and end > 1e9, axis
        for n, pieces in ((0, 2), (1, 1)):
            (name, found), = [(k, v) for k, v in lines.items() if k.startswith(f"Fake GPU #{n}: min {55 + n} C")]
            assert name == f"Fake GPU #{n}: min {55 + n} C, mean {55 + n} C, max {55 + n} C" and len(found) == pieces, (name, len(found))
            assert name in run(self.kymo, "report", "--format", "md", "-o", "-", self.trace).stdout.replace("\\", "").replace(" | ", ": "), name
            times = [r["t"] for r in self.query(f"SELECT time AS t FROM counters WHERE name = 'temperature' AND value = {55 + n} ORDER BY 1")]
            assert len(times) > 5, times
            for x in (zero + t / 1e9 * second for t in times if t <= end):
                assert any(p[0][0] - 2 <= x <= p[-1][0] + 2 for p in found), (x, [(p[0][0], p[-1][0]) for p in found])
            spans = sorted((p[0][0], p[-1][0]) for p in found)
            if pieces == 2:
                assert 30 < spans[1][0] - spans[0][1] < 820 / 2, spans
        # Of a part, the axis and the lines begin with it.
        part = xml.etree.ElementTree.fromstring(run(self.kymo, "report", "--after", "0.1s", "--plot", "telemetry", "-o", "-", self.trace).stdout)
        lasts = [float(p.get("points").split()[-1].split(",")[0]) for p in part.iter(space + "polyline") if p.find(space + "title") is not None and p.find(space + "title").text.startswith("Fake GPU #0: min 55 C")]
        marks = sorted({(float(t.get("x")), float(t.text.split()[0]) * {"s": 1, "ms": 1e-3}[t.text.split()[1]]) for t in part.iter(space + "text") if re.fullmatch(r"[\d.]+ m?s", t.text or "") and t.get("text-anchor") == "middle"})
        wide = (marks[-1][0] - marks[0][0]) / (marks[-1][1] - marks[0][1])
        was = sorted((x - zero) / second for x in (p[-1][0] for k, v in lines.items() if k.startswith("Fake GPU #0: min 55 C") for p in v))
        assert marks[0] == (150, 0) and abs(was[0] - (min(lasts) - 150) / wide - 0.1) < 0.01, (was, lasts, marks)
        # Power, which changes: heights in the panel of #1 by its marks.
        power = [r["v"] for r in self.query("SELECT value AS v FROM counters WHERE name = 'power' AND unit = 'W' AND agent_name LIKE 'Fake GPU%'")]
        found = [p for k, v in lines.items() if k.startswith("Fake GPU #1: min 300 W") for line in v for p in line]
        marks = sorted((float(t.get("y")) - 5, float(t.text.split()[0])) for t in root.iter(space + "text") if re.fullmatch(r"[\d.]+(e\+\d+)? W", t.text or ""))
        low = min(m for m in marks if m[0] >= max(y for _, y in found) - 1e-3)
        above = max(m for m in marks if m[0] < low[0])
        watts = (above[1] - low[1]) / (low[0] - above[0])  # of a unit of height
        assert watts > 0, (low, above)
        drawn, told = [low[1] + (low[0] - y) * watts for _, y in found], {v for v in power if v < 400}
        assert all(min(abs(d - v) for v in told) <= 0.002 * watts + 1e-6 for d in drawn), (set(drawn), told)
        assert all(min(abs(d - v) for d in drawn) <= 0.002 * watts + 1e-6 for v in told), (set(drawn), told)

    def others(self):
        self.record("sleep", "0.3", env=self.gpus)
        amd = {r["counter"]: r for r in self.rows("telemetry") if r["source"] == "rocm_smi"}
        assert amd["power"]["average"] == 500 and amd["temperature.junction"]["last"] == 45, amd
        assert abs(amd["energy"]["total"] - round(amd["energy"]["total"])) < 0.01, amd["energy"]
        pci = self.query("SELECT properties AS p FROM agent WHERE name = 'Fake Instinct'")
        assert pci == [{"p": '{"pci":"0001:c3:02.1"}'}], pci
        xe = {r["counter"]: r for r in self.rows("telemetry") if r["source"] == "sysman"}
        assert xe["utilisation.compute"]["average"] == 50 and xe["clock"]["max"] == 1550, xe
        assert xe["memory.used"]["max"] == 2048 and xe["throttled"]["min"] == 100, xe
        assert xe["energy"]["total"] % 2 == 0 and "clock.memory" not in xe, xe
        self.record("sleep", "0.3", env=dict(self.gpus, FAKE_RSMI="average"))
        amd = {r["counter"]: r for r in self.rows("telemetry") if r["source"] == "rocm_smi"}
        assert amd["power"]["average"] == 200 and 40 <= amd["energy"]["total"] <= 120, amd

    def amd(self):
        """AMD-SMI before ROCm-SMI; two devices of one name; versions whose layouts differ; what fails."""
        both = dict(self.gpus, LD_LIBRARY_PATH=os.path.join(self.gpus["LD_LIBRARY_PATH"], "amd") + ":" +
                    self.gpus["LD_LIBRARY_PATH"])

        def rows(source, **more):
            self.record("sleep", "0.4", env=dict(both, **more), ms=20)
            return {(r["counter"], r["device"]): r for r in self.rows("telemetry") if r["source"] == source}
        for version in ({}, {"FAKE_AMDSMI": "old"}):
            amd = rows("amd_smi", **version)
            one, two = (d for d in sorted({d for _, d in amd}))
            assert amd["power", one]["average"] == 600 and amd["power", two]["average"] == 400, (version, amd)
            assert amd["temperature.edge", one]["last"] == 50 and amd["temperature.junction", two]["last"] == 61, amd
            assert amd["temperature.memory", one]["last"] == 70, amd
            assert amd["utilisation", one]["average"] == 60 and ("utilisation", two) not in amd, amd
            assert amd["utilisation.memory", two]["max"] == 30 and ("utilisation.media", one) not in amd, amd
            assert amd["memory.used", one]["max"] == 5 * 1024 and amd["memory.used", two]["max"] == 6 * 1024, amd
            assert amd["memory.host.used", two]["max"] == 1, amd
            total = amd["energy", one]["total"]  # a joule each time
            assert total >= 1 and abs(total - round(total)) < 0.01, amd
            assert 0 < amd["energy", two]["total"] <= 400 * 10, amd  # power over time
            assert not [r for r in self.rows("telemetry") if r["source"] == "rocm_smi"], "asked twice"
        pci = self.query("SELECT properties AS p FROM agent WHERE name = 'Fake MI' ORDER BY 1")
        assert pci == [{"p": '{"pci":"0001:c3:02.1"}'}, {"p": '{"pci":"0001:c4:02.1"}'}], pci
        for why, told in (("denied", "permission denied (status 10)"), ("ancient", "AMD-SMI 23.1 is of a version"),
                          ("none", "AMD-SMI has no device")):
            amd = rows("rocm_smi", FAKE_AMDSMI=why)
            assert amd and {d for _, d in amd} == {"Fake Instinct"}, (why, amd)
            p = run(self.kymo, "doctor", env=dict(both, FAKE_AMDSMI=why))
            assert told in p.stdout, (why, p.stdout)
        p = run(self.kymo, "doctor", env=both)
        assert re.search(r"telemetry .*amd_smi \(", p.stdout) and "rocm_smi (" not in p.stdout, p.stdout
        amd = rows("amd_smi", FAKE_AMDSMI="dies")
        one, two = (d for d in sorted({d for _, d in amd}))
        assert amd["power", one]["samples"] < amd["power", two]["samples"], amd
        notes = self.query("SELECT text FROM note WHERE text LIKE '%the device was not found%'")
        assert notes and "power" in notes[0]["text"], notes

    def listing(self):
        p = run(self.kymo, "list", "telemetry", "--format", "json", env=self.gpus)
        told = json.loads(p.stdout)
        power = [v for v in told["values"] if v["source"] == "nvml" and v["name"] == "power"]
        assert len(power) == 2 and 300 <= power[0]["value"] <= 301, power
        assert {"nvml", "rocm_smi", "sysman", "cpu", "job"} <= {s["name"] for s in told["sources"]}
        assert "Fake GPU" in run(self.kymo, "list", "telemetry", env=self.gpus).stdout
        run(self.kymo, "list", "telemetry", "x", status=2)
        run(self.kymo, "run", "--telemetry=3600001", "true", status=2)
        run(self.kymo, "run", "--telemetry=often", "true", status=2)

    def only(self):
        """Sources, values, devices and interfaces that are chosen, and what is no choice."""
        root, _ = self.tree()
        for name in ("eth0", "eth1", "eth10"):
            put(f"{root}/sys/class/net/{name}/statistics/rx_bytes", "1000\n")
        env = dict(self.gpus, KYMO_TELEMETRY_ROOT=root)

        def told(only):
            run(self.kymo, "run", "-f", "--telemetry=10", "--telemetry-only", only, "-o", self.trace, "--", "sleep", "0.5", env=env)
            rows = self.query("SELECT DISTINCT name, agent_name AS a FROM counters ORDER BY 1, 2")
            return [(r["name"], r["a"]) for r in rows]
        assert told("net:interface=eth1,net:interface=eth10") == [("net.received", "eth1"), ("net.received", "eth10")]
        assert told("net:device=0,2") == [("net.received", "eth0"), ("net.received", "eth10")]
        both = told("nvml")
        assert len(self.query("SELECT name FROM agent WHERE name LIKE 'Fake GPU%'")) == 2, both
        assert told("nvml:device=1") and len(self.query("SELECT name FROM agent WHERE name LIKE 'Fake GPU%'")) == 1
        assert {name for name, _ in told("power")} == {"power"}
        assert {name for name, _ in told("job.rss")} == {"job.rss"}
        # Values of one source, by their names and by patterns; those of others are not meant.
        assert {name for name, _ in told("nvml:value=power:value=clock.s*:device=0")} == {"power", "clock.sm"}
        assert {a for _, a in told("hwmon:value=temp*,rapl")} == {"k10temp", "CPU package 0"}
        assert told("net:device=eth?") == [("net.received", "eth0"), ("net.received", "eth1")]
        assert told("net.rec*:interface=eth1") == [("net.received", "eth1")]
        for only, words in {"nvml:device=0-2": "nvml has no device 2; it has: 0 (", "nonsense": "no nonsense here",
                            "net:interface=eth": "no interface eth; it has: 0 (eth0), 1 (eth1), 2 (eth10)",
                            "net:cpus=1": "takes :device=NUMBERS or NAME, :cpu=NUMBERS, ", "net:value=": "takes :device",
                            "net:cpu=0": "net has no values of each processor", "nvml:value=net.sent": "nvml has no value net.sent here",
                            "cpu:cpu=4096": "there is no processor 4096", "cpu:cpu=0-": "no list of numbers", "net:device=x": "net has no device x; it has: 0 (eth0)", "nvml:interface=eth0": "nvml has no interface eth0", "net:device=1x": "no list of numbers", "": "a name is missing",
                            "cpu:device=0": "it has: none"}.items():
            p = run(self.kymo, "run", "-f", "--telemetry", "--telemetry-only", only, "--", "echo", "ran", env=env, status=2)
            assert words in p.stderr and "ran" not in p.stdout, (only, p.stderr)
        p = run(self.kymo, "run", "--telemetry-only", "net", "--", "echo", "ran", status=2)
        assert "go with --telemetry" in p.stderr and not p.stdout, p.stderr

    # Three processors, each of its own load at any time.
    WORKER = """import glob, os, sys, time
def written():
    return sum(map(os.path.getsize, glob.glob(sys.argv[2] + "/raw/*-telemetry-*.kyr")))
fd = os.open(sys.argv[1] + "/proc/stat", os.O_WRONLY)
def line(name, *times):
    return name + "".join(" %06d" % (t * i) for t in times) + "\\n"
i, sizes = 0, set()
while len(sizes) < 4: # until all of a second was read, and written down
    i += 1
    sizes.add(written())
    text = line("cpu", 300, 0, 0, 500) + line("cpu0", 100, 0, 0, 0) + line("cpu2", 0, 0, 25, 75) + line("cpu12", 50, 0, 0, 50)
    os.pwrite(fd, (text + "intr 5\\n").encode(), 0)
    time.sleep(0.01)
"""

    def processors(self):
        """Load and clock of the processors that are listed, each with its own values; one that goes away is a gap."""
        root = os.path.join(self.folder, "cpus")
        begin = "".join(name + " 000000" * 4 + "\n" for name in ("cpu", "cpu0", "cpu2", "cpu12"))
        for i, khz in ((0, 3000000), (2, 1200000), (12, 800000)):
            put(f"{root}/sys/devices/system/cpu/cpu{i}/cpufreq/scaling_cur_freq", f"{khz}\n")

        def told(only, program):
            put(root + "/proc/stat", begin)
            run(self.kymo, "run", "-f", "--telemetry=10", "--telemetry-only", only, "-o", self.trace, "--", sys.executable,
                "-c", program, root, self.trace, env={"KYMO_TELEMETRY_ROOT": root})
            return {(r["counter"], r.get("instance")): r for r in self.rows("telemetry")}
        each = told("cpu:cpu=0,2", self.WORKER)
        assert each["processor.utilisation", 0]["min"] == each["processor.utilisation", 0]["max"] == 100, each
        assert each["processor.utilisation", 2]["min"] == each["processor.utilisation", 2]["max"] == 25, each
        assert each["processor.system", 2]["last"] == 25 and ("processor.system", 0) not in {
            k for k, r in each.items() if r["max"]}, each
        assert each["processor.frequency", 0]["last"] == 3000 and each["processor.frequency", 2]["last"] == 1200, each
        assert {i for _, i in each} == {0, 2}, each  # not cpu12, whose name begins as cpu1's, and not the node's
        both = told("cpu:cpu=12:value=*.frequency,cpu:cpu=0:value=processor.user", self.WORKER)
        assert set(both) == {("processor.frequency", 12), ("processor.user", 0)}, both
        node = told("cpu", self.WORKER)
        assert {i for _, i in node} == {None} and ("cpu.utilisation", None) in node, node
        p = run(self.kymo, "run", "--telemetry", "--telemetry-only", "cpu:cpu=0,2-3", "--", "echo", "ran", status=2,
                env={"KYMO_TELEMETRY_ROOT": root})
        assert "there is no processor 3" in p.stderr and not p.stdout, p.stderr
        gone = self.WORKER.replace('"cpu2"', '"cpu3"')
        told("cpu:cpu=0,2", gone)
        notes = self.query("SELECT text FROM note WHERE text LIKE '%the processor was taken away%'")
        assert notes, self.query("SELECT text FROM note")
        # Without cpufreq the clocks are in /proc/cpuinfo, in any order of processors.
        shutil.rmtree(root + "/sys")
        put(root + "/proc/cpuinfo", "processor\t: 2\nflags\t: a\ncpu MHz\t\t: 1100.5\n\nprocessor\t: 0\ncpu MHz\t\t: 2200\n\n")
        each = told("cpu:cpu=0,2", self.WORKER)
        assert each["processor.frequency", 0]["last"] == 2200 and each["processor.frequency", 2]["last"] == 1100.5, each

    def times(self):
        """Telemetry that begins later than the run and ends before it; of several launchers none goes on after its end."""
        program = "import time\nwhile time.monotonic() < {}: time.sleep(0.01)"
        begin = time.monotonic()
        run(self.kymo, "run", "-f", "--threads", "--telemetry=10", "--telemetry-only", "cpu", "--telemetry-delay", "1", "--telemetry-duration", "300ms",
            "-o", self.trace, "--", sys.executable, "-c", program.format(begin + 4))
        t = self.query("SELECT min(time) AS a, max(time) AS b FROM counters")[0]
        origin = self.query("SELECT min(start) AS s FROM process WHERE NOT telemetry")[0]["s"]
        length = (t["b"] - t["a"]) / 1e9
        assert t["a"] - origin >= 3e8 and 0 < length <= 2, (t, origin)  # on a busy machine its thread is late
        p = run(self.kymo, "run", "-f", "--telemetry=10", "--telemetry-delay", "1h", "-o", self.trace, "--", "true")
        assert "ended before --telemetry-delay was over" in p.stderr and not self.rows("telemetry"), p.stderr
        for option in ("--telemetry-delay", "--telemetry-duration"):
            p = run(self.kymo, "run", option, "1", "--", "echo", "ran", status=2)
            assert "go with --telemetry" in p.stderr and not p.stdout, p.stderr
        trace, ranks = os.path.join(self.folder, "ranks.kymo"), []
        end = time.monotonic() + 2
        for rank in range(2):
            env = dict(os.environ, KYMO_JOB=f"job{os.getpid()}", PMI_RANK=str(rank), PMI_SIZE="2")
            ranks.append(subprocess.Popen([self.kymo, "run", "--telemetry=10", "--telemetry-duration", "100ms", "-o", trace, "--", sys.executable,
                                           "-c", program.format(end)], env=env, stderr=subprocess.PIPE, text=True))
        for p in ranks:
            assert p.wait(60) == 0, p.stderr.read()
        assert len(glob.glob(trace + "/raw/*-telemetry-*.kyr")) == 1, os.listdir(trace + "/raw")

    # Page faults on each processor, as many as it says.
    FAULTS = """import glob, mmap, os, resource, sys, time
def written():
    return sum(map(os.path.getsize, glob.glob(sys.argv[1] + "/raw/*-telemetry-*.kyr")))
sizes = set()
while len(sizes) < 3: # until what is there was read
    sizes.add(written())
    time.sleep(0.01)
for cpu, times in ((0, 20), (1, 60)):
    os.sched_setaffinity(0, {cpu if cpu in os.sched_getaffinity(0) else 0})
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times * 20):
        with mmap.mmap(-1, 1 << 18) as m:
            for at in range(0, 1 << 18, 4096):
                m[at] = 1
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - begin)
    os.sched_setaffinity(0, range(os.cpu_count()))
"""

    def fake_pmus(self):
        """Two memory controllers that count as the kernel's software events do, each on a processor of its own."""
        root, _ = self.tree()
        pmus = root + "/sys/bus/event_source/devices/"
        for i, cpu in ((0, 0), (1, os.cpu_count() - 1)):
            pmu = f"{pmus}uncore_imc_{i}/"
            put(pmu + "type", "1\n")
            put(pmu + "cpumask", f"{cpu}\n")
            put(pmu + "format/event", "config:0-7\n")
            put(pmu + "events/clocks", "event=0x00\n")
            put(pmu + "events/clocks.scale", "1e-6\n")
            put(pmu + "events/clocks.unit", "ms\n")
            put(pmu + "events/faults", "event=2\n")
        put(pmus + "uncore_imc_free_running/type", "1\n")  # is another one
        return root

    def perf(self):
        """Counters of whole processors and of PMUs, over time; what cannot be counted, and who may not."""
        if os.cpu_count() < 2 or not {0, 1} <= os.sched_getaffinity(0):
            return SKIPPED
        root = self.fake_pmus()
        env = {"KYMO_TELEMETRY_ROOT": root}
        listed = run(self.kymo, "list", "counters", env=env).stdout
        assert "\nuncore_imc_0/clocks/\nuncore_imc_0/faults/\nuncore_imc_1/clocks/\n" in listed, listed
        for items, words in {"cpu-clock:cpu=0,4096": "cpu-clock: there is no processor 4096", "cpu-clock:cpu=": "no list of processors",
                             "nonsense:cpu=0": "no counter nonsense", "uncore_imc/nonsense/": 'uncore_imc_0 has no event or term "nonsense"',
                             "uncore_imc/clocks": "not of the form PMU/EVENT/", "/clocks/": "not of the form", "imc/clocks/": "no PMU imc here",
                             "uncore_imc/event=0x100/": "does not fit into config:0-7", "uncore_imc/event=-1/": "is no number",
                             "uncore_imc_0/clocks/:cpu=1": "does not count on processor 1", "uncore_imc/..\x2ftype/": "not of the form"}.items():
            p = run(self.kymo, "run", "--counters", items, "--", "echo", "ran", env=env, status=2)
            assert words in p.stderr and not p.stdout, (items, p.stderr)
        self.perf_refused()
        if "not here" in listed.split("Over time")[1].splitlines()[0]:
            p = run(self.kymo, "run", "--counters", "cpu-clock:cpu=0", "--", "echo", "ran", status=2)
            assert "--counters: cpu-clock" in p.stderr and not p.stdout, p.stderr
            return SKIPPED
        p = run(self.kymo, "run", "-f", "-o", self.trace, "--counters", "page-faults:cpu=0-1,cpu-clock:cpu=1,uncore_imc/clocks/,"
                "uncore_imc_1/faults/,task-clock", "--", sys.executable, "-c", self.FAULTS, self.trace, env=env)
        rows = {(r["device"], r["counter"], r["instance"]): r for r in self.rows("telemetry")}
        last = os.cpu_count() - 1
        assert set(rows) == {("node", "page-faults", 0), ("node", "page-faults", 1), ("node", "cpu-clock", 1), ("uncore_imc_0", "clocks", 0),
                             ("uncore_imc_1", "clocks", last), ("uncore_imc_1", "faults", last)}, rows
        # Others fault as well, so that more may be counted; three times as many were on the second processor.
        some, more = map(int, p.stdout.split())
        assert more > 2.5 * some, (some, more)
        assert rows["node", "page-faults", 0]["total"] >= 0.9 * some and rows["node", "page-faults", 1]["total"] >= 0.9 * more, (some, more, rows)
        for name, scale in (("cpu-clock", 1), ("clocks", 1e6)):
            for r in self.query(f"SELECT agent_name AS a, sum(value) AS s, sum(duration) AS d FROM counters WHERE name = '{name}' GROUP BY 1"):
                assert abs(r["s"] * scale - r["d"]) < 0.2 * r["d"] + 5e7, r  # the clock runs while time passes
        assert rows["uncore_imc_0", "clocks", 0]["unit"] == "ms", rows
        p = run(self.kymo, "run", "--dry-run", "--counters", "task-clock,cpu-clock:cpu=0-1,page-faults", "--", "true")
        assert "KYMO_COUNTERS=task-clock,page-faults" in p.stdout, p.stdout
        # A formula of PMUs has a row of each of them.
        run(self.kymo, "run", "-f", "-o", self.trace, "--counters", 'speed{1/ms}="uncore_imc/faults/" / "uncore_imc/clocks/"', "--",
            sys.executable, "-c", self.FAULTS, self.trace, env=env)
        rows = {(r["device"], r["counter"]): r for r in self.rows("telemetry")}
        for pmu in ("uncore_imc_0", "uncore_imc_1"):
            want = rows[pmu, "faults"]["total"] / rows[pmu, "clocks"]["total"]
            assert abs(rows[pmu, "speed"]["average"] - want) < 1e-6 * want, rows
        # Beside other telemetry, at its interval, also where only some is wanted.
        put(root + "/sys/class/net/eth0/statistics/rx_bytes", "1000\n")
        run(self.kymo, "run", "-f", "-o", self.trace, "--counters", "cpu-clock:cpu=0,1", "--telemetry=20", "--telemetry-only", "net", "--",
            "sleep", "0.5", env=env)
        told = {r["name"]: r["n"] for r in self.query("SELECT name, count(*) AS n FROM counters GROUP BY 1")}
        assert set(told) == {"net.received", "cpu-clock"} and told["cpu-clock"] >= 8, told
        return 0

    def perf_refused(self):
        """One who may not count whole processors is told so, and what to do, before the program runs."""
        with open("/proc/sys/kernel/perf_event_paranoid") as f:
            if int(f.read()) < 1 or (os.getuid() == 0 and not os.path.exists("/usr/bin/setpriv")):
                return
        os.chmod(self.folder, 0o777)
        drop = ["setpriv", "--reuid=65534", "--clear-groups", "--"] if os.getuid() == 0 else []
        kymo = self.everybodys_kymo() if drop else self.kymo
        p = run(*drop, kymo, "run", "--counters", "cpu-clock:cpu=0", "-o", self.trace, "--", "echo", "ran", cwd=self.folder, status=2)
        assert "cpu-clock" in p.stderr and not p.stdout, p.stderr
        if "seccomp" not in p.stderr:
            assert "perf_event_paranoid of at most 0" in p.stderr and "CAP_PERFMON" in p.stderr, p.stderr
        doctor = run(*drop, kymo, "doctor", status=None, cwd=self.folder).stdout
        assert re.search("perf: cpu-clock on processor 0 is not permitted", doctor) or "seccomp" in doctor, doctor
        listed = run(*drop, kymo, "list", "counters", cwd=self.folder).stdout
        assert "of whole processors and PMUs, not here: cpu-clock" in listed, listed

    def kernels(self):
        """Energy of a CUDA program's kernels: the fakes for CUPTI and NVML tell of one device."""
        cuda = os.path.join(TESTS, "cuda")
        flags = ["-std=gnu11", "-w", "-O2", "-pthread"]
        cupti, program = os.path.join(self.folder, "libcupti-fake.so"), os.path.join(self.folder, "program")
        cc = os.environ.get("CC", "cc").split()
        if run("sh", "-c", f"command -v {cc[0]}", status=None).returncode:
            return SKIPPED
        run(*cc, *flags, "-shared", "-fPIC", os.path.join(cuda, "fake.c"), "-o", cupti)
        run(*cc, *flags, *SCENES, cupti, "-o", program)
        env = dict(self.gpus, KYMO_CUPTI=cupti, FAKE_VERSION="130001")
        env["LD_LIBRARY_PATH"] = f"{self.fakes}:{self.folder}"
        self.record("sh", "-c", f"{program} basic; sleep 0.4", env=env, ms=100)
        rows = self.rows("kernel_energy")
        assert {r["kernel"] for r in rows} >= {"add(float*, float*, int)", "(no kernel)"}, rows
        total = self.one("energy", rows[0]["device"])["total"]
        assert abs(sum(r["joules"] for r in rows) - total) < 1e-4 * total, (rows, total)
        assert abs(sum(r["share_percent"] for r in rows) - 100) < 1e-2, rows
        assert rows[0]["device"] == "Fake GPU #0", rows
        return 0


def main():
    kymo, fakes, what = sys.argv[1:]
    with kymotest.Folder() as folder:
        status = getattr(Test(kymo, fakes, folder), what)()
    if status == SKIPPED:
        print("skipped: something that this needs is missing")
    return status or 0


sys.exit(main())
