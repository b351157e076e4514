# SPDX-License-Identifier: Apache-2.0
"""What run_all.py checks of rare uses of CUDA, of its libraries, and of several GPUs."""
import json
import pathlib
import socket
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
GPU = HERE.parent.parent / "tests" / "cuda" / "gpu"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


# Published peaks: bytes a second of memory; operations a second of FP64 and FP32 without tensor cores (data sheets, SXM).
PEAKS = {"H200": (4.8e12, 34e12, 67e12), "H100": (3.35e12, 34e12, 67e12), "A100": (1.555e12, 9.7e12, 19.5e12)}
# What is usually attained of them: copies by STREAM-like kernels 90 to 93 %, chains of FMA nearly all.
USUAL = {"memory": 0.915, "fp64": 0.97, "fp32": 0.97}


class Checks:
    """Needs run_all.Bench: say(), check(), trace(), sql(), one(), run(), kymo, out."""

    # ---- roofs ----

    def roofs(self):
        """Measured on each GPU; those of memory and arithmetic within 10 % of what is usually attained."""
        done = self.run([self.kymo, "calibrate", "--again", "--device", "cuda", "-f", "json"], timeout=300)
        (pathlib.Path(self.out) / "roofs.json").write_text(done.stdout)
        try:
            devices = json.loads(done.stdout)["devices"]
        except ValueError:
            self.check("roofs", False, (done.stdout + done.stderr)[-300:])
            return
        for device in devices:
            self.device_roofs(device)
        plot = self.run([self.kymo, "calibrate", "--roofs", pathlib.Path(self.out) / "roofs.json", "--force",
                         "--plot", pathlib.Path(self.out) / "roofs.svg"])
        self.check("roofs: picture", plot.returncode == 0, plot.stderr.strip()[-100:])

    def device_roofs(self, device):
        peaks = next((p for name, p in PEAKS.items() if name in device["name"]), None)
        for roof in device["roofs"]:
            if roof["value"] is None:
                self.check(f"roof {roof['name']}", False, roof["why"])
                continue
            value, interval = roof["value"], roof["interval"]
            self.say(f"roof {roof['name']} ({roof['about']})"[:58], f"{value:.4g} +- {interval:.2g} {roof['unit']}",
                     f"{100 * value / roof['peak']:.1f} % of told peak" if roof["peak"] else "")
            if peaks and roof["type"] in USUAL:
                wanted = peaks[list(USUAL).index(roof["type"])] * USUAL[roof["type"]]
                self.check(f"roof {roof['name']}: of what is usually attained (0.9 to 1.1)",
                           0.9 <= value / wanted <= 1.1, f"{value / wanted:.3f}")

    # ---- what instructions do ----

    def sass(self):
        """Counts of instructions against numbers that follow from the programs, and a line of Python."""
        n, tile = 1024, 32
        warps = n * n // 32
        rows = "SELECT what, kind, needed, used FROM kernel_accesses WHERE used ORDER BY 2, 1"
        wanted = {"bad": [["load", "global", 4 * warps, 32 * warps], ["store", "global", 4 * warps, 4 * warps]],
                  "repaired": [["load", "global", 4 * warps, 4 * warps], ["store", "global", 4 * warps, 4 * warps],
                               ["load", "local", warps, warps], ["store", "local", warps, warps]]}
        for mode, want in wanted.items():
            path, done = self.trace(f"sass-{mode}", [self.programs / "transpose", mode, "3", str(n)],
                                    "--instrument-kernels=transpose#1")
            sums = {}
            for what, kind, needed, used in self.sql(path, rows):
                at = sums.setdefault((what, kind), [0, 0])
                at[0], at[1] = at[0] + needed, at[1] + used
            got = [[*k, *v] for k, v in sorted(sums.items(), key=lambda x: (x[0][1], x[0][0]))]
            self.check(f"sass: {mode} transpose of {n}, tiles of {tile}: sectors and rounds, needed and used", got == want, got)
            self.check(f"sass: {mode} transpose: its own result", '"right": true' in done.stdout, done.stdout[-100:])
        for words, over in ((32, 31), (33, 0)):
            path, done = self.trace(f"sass-banks-{words}", [self.programs / "banks", str(words)], "--instrument-kernels")
            got = self.one(path, "SELECT 1.0 * sum(used - needed) / sum(warps) FROM kernel_accesses WHERE kind = 'local' AND what = 'load'")
            self.check(f"sass: columns of rows of {words} words: rounds too many for each warp ({over})", got == over, got)
        counted = self.one(path, "SELECT sum(value) FROM counters WHERE name = 'warp_instructions'")
        path, _ = self.trace("sass-counters", [self.programs / "banks", "33"], "--counters", "smsp__inst_executed.sum")
        self.check("sass: warp instructions are the hardware's", counted and counted == self.one(
            path, "SELECT sum(value) FROM counters WHERE name = 'smsp__inst_executed.sum'"), counted)
        self.sass_of_others()

    def sass_of_others(self):
        """Binaries of others, and kernels that Python made."""
        command = "import torch; a = torch.ones(512, 512, device='cuda'); b = a @ a; assert b.sum().item() == 512.0 ** 3"
        path, done = self.trace("sass-cublas", ["python3", "-c", command], "--instrument-kernels=gemm")
        self.check("sass: cuBLAS has counts, and its result", done.returncode == 0 and (self.one(
            path, "SELECT sum(warps) FROM kernel_instructions") or 0) > 0, done.stderr[-100:])
        path, done = self.trace("sass-triton", ["python3", "-B", GPU / "triton_step.py", "triton", "3"], "--instrument-kernels=hot_kernel#1")
        try:
            said = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            said = {}
        got = self.sql(path, "SELECT file, line FROM kernel_instructions GROUP BY 1, 2 ORDER BY sum(items) DESC LIMIT 1")
        self.check("sass: Triton's hot line", got == [[said.get("file"), said.get("line")]], got)

    def edge(self):
        for scene in ("jit", "pool", "green", "capture", "peer", "killed"):
            path, done = self.trace(f"edge-{scene}", [self.programs / "edge", scene])
            plain = self.run([self.programs / "edge", scene])
            try:
                want = json.loads(done.stdout.splitlines()[0])
            except (ValueError, IndexError):
                self.check(f"{scene}", False, (done.stdout + done.stderr)[-300:])
                continue
            if "skipped" in want:
                self.say(f"{scene}", "one GPU only", "skipped")
                continue
            same = plain.stdout == done.stdout and (plain.returncode == done.returncode or
                                                    scene == "killed")
            got = self.one(path, "SELECT count(*) FROM dispatch")
            orphans = self.one(path, "SELECT count(*) FROM dispatch WHERE call & 0xffffffffff = 0 OR "
                                     "call IS NULL OR start IS NULL")
            self.check(f"{scene}: kernels, without call or time; same output",
                       got == want["kernels"] and orphans == 0 and same,
                       f"{got}/{want['kernels']} {orphans} {same}")
            for op in sorted(set(want) & {"jit_compile", "pool_create", "pool_trim", "pool_destroy"}):
                n = self.one(path, f"SELECT count(*) FROM regions WHERE name = '{op}'")
                self.check(f"{scene}: {op}", n is not None and n >= want[op], n)
            if scene == "jit":
                self.say("jit: driver's own work", str(self.sql(
                    path, "SELECT name, count(*) AS n, sum(duration) AS ns FROM regions WHERE category = "
                          "'cuda_driver' GROUP BY 1"))[:200])
            if scene == "pool":
                n = self.one(path, "SELECT count(*) FROM allocation a JOIN op o ON o.id = a.op WHERE "
                                   "o.name = 'allocate' AND a.what = 7")
                self.check("pool: allocations from it", n == want["from_pool"], n)
                self.say("pool: sizes", str(self.sql(
                    path, "SELECT name, kymo_args(id) AS a FROM regions WHERE name LIKE 'pool%'"))[:300])
            if scene == "peer":
                self.peer(path, want)

    # ---- into programs that run already ----

    def attach(self):
        """Again and again: each recording has the kernels of its calls, but those under way at its ends."""
        for threads in (1, 2, 4):
            self.attached(f"{threads} threads", [self.programs / "loop", threads], 25)
        self.attached("PyTorch", ["python3", "-B", GPU / "train.py", "small", "1000000"], 40)

    def attached(self, name, command, times):
        seen = []
        with subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as program:
            try:
                if command[0] != "python3":
                    program.stdout.readline()
                else:
                    self.warm(program)
                seen = [self.kernels_while_attached(program.pid) for _ in range(times)]
                alive = program.poll() is None
            finally:
                program.stdin.close()
                if command[0] == "python3":
                    program.kill()
        whole = sum(launches > 0 and kernels >= 0.9 * launches - 4 for launches, kernels in seen)
        self.check(f"attach, {name}: recordings of {times} with their kernels; it runs on",
                   alive and whole == times, f"{whole}, status {program.returncode}")
        self.say(f"attach, {name}: launches and kernels", " ".join(f"{a}/{b}" for a, b in seen)[:400])

    def warm(self, program):
        """Until kernels are seen at all: how long PyTorch takes to load is not known."""
        for _ in range(60):
            if program.poll() is not None or self.kernels_while_attached(program.pid, 0.5)[0]:
                return

    def kernels_while_attached(self, pid, seconds=0.15):
        path = self.work / "attached.kymo"
        self.run([self.kymo, "attach", "-f", "-o", path, "--no-summary", "--duration", f"{seconds}s", pid])
        rows = self.sql(path, "SELECT (SELECT count(*) FROM regions WHERE name LIKE '%Launch%'), "
                              "(SELECT count(*) FROM kernels)")
        return tuple(rows[0]) if rows else (0, 0)

    def hang(self):
        """A kernel that spins is told, by its name, however the program ends; what ended is not."""
        sql = ("SELECT u.operation AS o, ifnull(u.name, '') AS n, a.name AS d, q.name AS q, u.region_name AS r "
               "FROM unfinished u LEFT JOIN agent a ON a.id = u.agent_id LEFT JOIN queue q ON q.id = u.queue_id")
        for scene in ("ends", "exits", "killed", "crowd"):
            path, done = self.trace(f"hang-{scene}", [self.programs / "hang", scene])
            try:
                want = json.loads(done.stdout.splitlines()[0])
            except (ValueError, IndexError):
                self.check(f"hang, {scene}", False, (done.stdout + done.stderr)[-300:])
                continue
            rows = self.sql(path, sql)
            named = [r for r in rows if "spinning" in r[1] and r[2] and r[3] and r[4] == "cudaLaunchKernel"]
            self.check(f"hang, {scene}: never seen to finish ({want['spinning']} spinning)",
                       len(rows) == len(named) == want["spinning"], rows[:5])
            quick = self.one(path, "SELECT count(*) FROM kernels WHERE name LIKE 'quick%'")
            if scene in ("ends", "exits"):
                self.check(f"hang, {scene}: other kernels", quick == want["quick"], quick)
            else: # CUPTI holds back what comes after the one that hangs, and some before it
                self.say(f"hang, {scene}: other kernels recorded of {want['quick']}", str(quick))
            if scene == "killed":
                self.summary(path, "hang")

    def peer(self, path, want):
        """Without access to each other's memory a copy goes by the host, in two parts."""
        rows = self.sql(path, "SELECT o.name AS o, ifnull(s.uuid, '') AS a, ifnull(d.uuid, '') AS b, "
                              "count(*) AS n, sum(c.bytes) AS bytes FROM copy c JOIN op o ON o.id = c.op "
                              "LEFT JOIN agent s ON s.id = c.source_agent LEFT JOIN agent d ON d.id = "
                              "c.destination_agent GROUP BY 1, 2, 3 ORDER BY 1")
        here, there = rows[0][2:0:-1] if rows else ("", "")
        size = want["bytes"]
        ok = here != there and rows == [
            ["copy", there, here, 1, size], ["read", here, "", 4, 4 * size],
            ["write", "", there, 4, 4 * size]] or rows == [
                ["copy", *ways, n, n * size] for ways, n in sorted(
                    [((here, there), 4), ((there, here), 1)])]
        self.check("peer: copies there and back, by uuid of the devices", ok, rows)

    # ---- several ranks, NCCL, cuBLAS, cuDNN ----

    def ranks(self, name, *words):
        path = self.work / f"{name}.kymo"
        self.run(["rm", "-rf", path])
        return path, self.run(
            ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", self.kymo, "run",
             "--no-summary", "-o", path, "python3", GPU / "ranks.py", free_port(), *words],
            {"NCCL_NVLS_ENABLE": "0", "KYMO_JOB": "", "OMPI_MCA_btl": "self,tcp"}, timeout=150)

    def multi(self):
        if self.run(["nvidia-smi", "-L"]).stdout.count("UUID") < 2:
            self.say("several GPUs", "one only", "skipped")
            return
        for words in ((), ("own",)):
            name = "two ranks" + (", a device visible to each" if words else "")
            path, done = self.ranks("ranks" + "".join(words), *words)
            told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            if len(told) != 2:
                self.check(name, False, (done.stdout + done.stderr)[-300:])
                continue
            uuids = {t["uuid"].replace("-", "") for t in told}
            seen = {str(r[0]).lower().replace("-", "") for r in self.sql(
                path, "SELECT DISTINCT a.uuid FROM dispatch k JOIN agent a "
                      "ON a.id = k.agent")}
            self.check(f"{name}: devices that ran kernels, by uuid", seen == uuids, sorted(seen))
            self.check(f"{name}: one trace, ranks", self.sql(
                path, "SELECT group_concat(DISTINCT rank) AS r FROM process WHERE rank IS NOT NULL") ==
                [["0,1"]], self.sql(path, "SELECT pid, rank FROM process"))
            rows = self.sql(path, "SELECT region_name, sent, received, count(*) AS n FROM messages WHERE "
                                  "region_name IN ('ncclAllReduce', 'ncclAllGather') GROUP BY 1, 2, 3 "
                                  "ORDER BY 2")
            self.check(f"{name}: NCCL's messages", rows == [
                ["ncclAllGather", 4000, 8000, 2], ["ncclAllReduce", 4 << 20, 4 << 20, 10]], rows)
            rows = self.sql(path, "SELECT size, count(*) AS n, count(DISTINCT key) AS k, min(key <> 0) AS z "
                                  "FROM communicator WHERE name LIKE '%NCCL%' GROUP BY 1")
            self.check(f"{name}: a communicator of two, one key",
                       any(r[0] == 2 and r[1] == 2 * r[2] and r[3] for r in rows), rows)
            rows = self.sql(path, "SELECT k.name AS k, p.name AS p FROM kernels k JOIN regions r ON r.id = "
                                  "k.call_id JOIN regions p ON p.pid = r.pid AND p.event_id & "
                                  "0xffffffffff = r.parent_stack_id & 0xffffffffff WHERE k.name LIKE "
                                  "'ncclDev%AllReduce%' GROUP BY 1, 2")
            self.check(f"{name}: NCCL's kernels are of its calls",
                       rows and all(r[1] in ("ncclAllReduce", "ncclGroupEnd") for r in rows), rows)
            self.libraries(path, name)
            self.say(f"{name}: devices in the summary", " | ".join(
                line for line in self.run([self.kymo, "summary", "--by", "device", path])
                .stdout.splitlines() if "H200" in line)[:300])
            self.summary(path, "ranks" + "".join(words))

    def libraries(self, path, name):
        rows = self.sql(path, "SELECT category, name, count(*) AS n FROM regions WHERE category IN ('cublas', "
                              "'cublaslt', 'cudnn') GROUP BY 1, 2")
        kinds = {r[0] for r in rows}
        self.check(f"{name}: cuBLAS, cuDNN", {"cublas", "cudnn"} <= kinds, rows)
        text = self.one(path, "SELECT kymo_args(id) AS a FROM regions WHERE category = 'cublas' AND name LIKE "
                              "'%emm%' LIMIT 1") or ""
        self.say(f"{name}: a matrix product", text[:200])
        notes = self.one(path, "SELECT group_concat(text, '; ') AS t FROM note WHERE severity > 1")
        self.check(f"{name}: no warnings", not notes, notes or "none")
