#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the traces that golden.kept.* read, anew: record_kept.py BUILD [NAME...], as root, on x86-64 Linux with gcc,
clang, patchelf, PoCL and MPICH.

Only after the raw format was changed on purpose, and with kept.py --update behind it: what is kept shows that traces of before can be read, so rather
add an archive than replace one.

Everything runs in /opt/example, which must not be there before and is removed at the end: programs, libraries and Kymo are copied to it, the host is
named node1 there, and the environment is empty but for what is said here. So no trace names a path of this machine, and no reader can find the
programs and libraries that a trace names, whatever machine it reads it on."""
import glob
import os
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
SOURCE = os.path.dirname(TESTS)
ROOT = "/opt/example"
RUN = os.path.join(ROOT, "run")
LIB = os.path.join(ROOT, "lib")
SH = os.path.join(ROOT, "bin", "sh")
KYMO = os.path.join(ROOT, "kymo", "bin", "kymo")
FLAGS = ["-O2", "-g", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", "-w", "-I" + os.path.join(SOURCE, "include"), f"-ffile-prefix-map={SOURCE}={ROOT}/src",
         f"-Wl,--dynamic-linker={LIB}/ld-linux-x86-64.so.2"]
OPENMP = next((f for f in (f"/usr/lib/llvm-{n}/lib" for n in (21, 20, 19, 18)) if os.path.exists(f + "/libomp.so")), "/nowhere")
OCL = ["-DCL_TARGET_OPENCL_VERSION=300", "-DCL_USE_DEPRECATED_OPENCL_1_2_APIS"]
sys.path.insert(0, os.path.join(TESTS, "cuda"))
from scenes import SCENES  # noqa: E402


def must(*words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def test(*names):
    return [os.path.join(TESTS, n) for n in names]


def own_libraries(path):
    """Copies the libraries of the system that a program or library needs to LIB."""
    for line in must("ldd", path, env=dict(os.environ, LD_LIBRARY_PATH=OPENMP)).splitlines():
        words = line.split()
        file = words[2] if "=>" in words else words[0]
        copy = os.path.join(LIB, os.path.basename(file))
        if file.startswith("/") and not file.startswith(ROOT) and not os.path.exists(copy):
            shutil.copy(file, copy)


def compiled(name, *sources, flags=(), compiler="gcc"):
    out = os.path.join(LIB if name.endswith(".so") else os.path.join(ROOT, "bin"), name)
    if not os.path.exists(out):
        must(compiler, *FLAGS, *(["-shared", "-fPIC"] if name.endswith(".so") else []), *sources, *flags, "-o", out)
        own_libraries(out)
    return out


def recorded(trace, options, *command, env=None, status=0):
    """kymo run in the place made for it; the trace is left in RUN."""
    environment = {"PATH": f"{ROOT}/bin:/usr/bin:/bin", "HOME": f"{ROOT}/home", "USER": "user", "LOGNAME": "user", "LANG": "C.UTF-8", "TZ": "UTC",
                   "LD_LIBRARY_PATH": LIB, "TMPDIR": f"{ROOT}/tmp", **(env or {})}
    words = ["env", "-i", *(f"{k}={v}" for k, v in environment.items()), KYMO, "run", "--no-summary", "-o", trace, *options, "--", *command]
    script = 'hostname node1; cd "$0"; exec "$@"'
    done = subprocess.run(["unshare", "--uts", "sh", "-c", script, RUN, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}")
    print(trace + ":", done.stdout[-300:])


def copied(path):
    """A library or program of the build or the system."""
    copy = os.path.join(LIB if ".so" in path else os.path.join(ROOT, "bin"), os.path.basename(path))
    if not os.path.exists(copy):
        shutil.copy(path, copy)
        own_libraries(copy)
    return copy


def opencl_program(name):
    return compiled(name, *test(f"programs/{name}.c", "programs/support.c"), flags=["-lOpenCL", "-lm", *OCL])


def each(program, *scenes):
    """A shell that runs a program for each, one behind the other."""
    return SH, "-c", "; ".join(f"{program} {s}" for s in scenes)


# ---- the recordings, by name ----

def cuda():
    """Processes of one program, two devices, streams, contexts, threads, graphs, peers, memory pools, ranges, leaks, device work without times."""
    fake = compiled("libcupti-fake.so", *test("cuda/fake.c"))
    program = compiled("cuda_program", *SCENES, fake, flags=["-rdynamic"])
    env = {"KYMO_CUPTI": fake, "FAKE_VERSION": "130001", "FAKE_DEVICES": "2"}
    recorded("cuda.kymo", ["--mode", "full", "--stacks=cudaLaunchKernel"],
             *each(program, "modules", "two_devices", "graphs", "objects leaks", "driver_work", "basic", "odd"), env=env)


def profile():
    """Samples and counters of CUDA's kernels, counters of the host beside them; a second run to compare with."""
    fake = compiled("libcupti-profile.so", *test("cuda/fake.c", "cuda/fake_profile.c", "cuda/fake_range.c"))
    program = compiled("cuda_profile", *test("cuda/profile.c", "cuda/calls.c"), fake)
    env = {"KYMO_CUPTI": fake, "FAKE_VERSION": "130001"}
    recorded("a.kymo", ["--counters", "smsp__warps_launched.sum,smsp__inst_executed.max,sm__cycles_elapsed.avg,page-faults"], *each(program, "count", "chosen"),
             env=env)
    recorded("b.kymo", ["--pc-sampling", "--no-compress"], *each(program, "pc", "full"), env=env)


def opencl():
    """PoCL: two queues, errors, copies of all kinds, SVM, callbacks, sub-buffers, native kernels, builds; two runs of it to compare and merge."""
    programs = [opencl_program(n) for n in ("ocl_two", "ocl_errors", "ocl_copies", "ocl_svm", "ocl_native", "ocl_buffers", "ocl_callbacks")]
    for name in "a", "b":
        recorded(name + ".kymo", ["--mode", "full"], SH, "-c", "; ".join(programs[:4] if name == "b" else programs))


def lines():
    """Kernels that are instrumented: lines, accesses as 32 lanes make them, what handlers report."""
    recorded("lines.kymo", ["--lanes", "32", "--handlers", "heatmap", "--instrument-kernels"], SH, "-c",
             "; ".join(opencl_program(n) for n in ("ocl_accesses", "ocl_regions")))


def mpi():
    """Four ranks of MPICH: point-to-point, collectives, one-sided, files, two communicators, objects that stay."""
    programs = [compiled(n, *test(f"mpi/{n}.c"), compiler="mpicc.mpich") for n in ("traffic", "objects")]
    recorded("mpi.kymo", ["--mode", "full"], SH, "-c", f"mpiexec.mpich -n 4 {programs[0]} {RUN}/file && mpiexec.mpich -n 2 {programs[1]} leaks")


def host():
    """What threads wait for, files, locks, memory of malloc(), samples with stacks, times without a processor, counters of calls."""
    clock = os.path.join(ROOT, "src", "clock.c")  # instead of that of the vDSO, of which each machine has another
    os.makedirs(os.path.dirname(clock), exist_ok=True)
    with open(clock, "w", encoding="utf-8") as f:
        f.write("#include <sys/syscall.h>\n#include <time.h>\n#include <unistd.h>\n"
                "int clock_gettime(clockid_t clock, struct timespec *time)\n{\n\treturn (int)syscall(SYS_clock_gettime, clock, time);\n}\n")
    flags = ["-ldl", "-rdynamic"]
    programs = {n: compiled("clocked_" + n, *test(f"{n}/program.c"), clock, flags=flags) for n in ("wait", "lock", "heap", "posix")}
    spends = compiled("sampling", *test("cli/sampling_program.c"), clock, flags=flags)
    recorded("host.kymo", ["--backends", "all,posix,wait,lock,heap", "--threads", "--heap-interval", "4K", "--sample=199", "--off-cpu",
                           "--counters", "page-faults,context-switches", "--no-compress"], SH, "-c",
             f"{programs['wait']} two; {programs['lock']} two; {programs['heap']} two; {programs['posix']} children {RUN}; {spends}")


def annotations():
    """NVTX, ITT, Kokkos, Kymo's own: ranges, marks, payloads, counters, pauses, names; a runtime that publishes its device's work itself."""
    programs = [compiled("annotated_" + n, *test(f"{n}/{f}.c"), flags=["-DFAKE", "-ldl"]) for n, f in (("nvtx", "program"), ("itt", "program"), ("kokkos", "fake"))]
    examples = os.path.join(SOURCE, "examples")
    programs.append(compiled("annotated", os.path.join(examples, "marker", "annotated.c"), flags=["-lOpenCL", "-lm", *OCL]))
    programs.append(compiled("accelerator", *(os.path.join(examples, "publish", n) for n in ("main.c", "toy.c", "toy_trace.c")),
                             flags=[os.path.join(ROOT, "kymo", "lib", "libkymo.so.1")]))
    recorded("annotations.kymo", ["--threads"], SH, "-c", "; ".join(programs))


def openmp():
    """Regions, tasks, locks, barriers of two threads, in two processes; uneven ones."""
    flags = ["-fopenmp", "-L" + OPENMP, "-lm"]
    programs = [compiled(n, *test(f"openmp/{n}.c"), flags=flags, compiler=os.path.join(os.path.dirname(OPENMP), "bin", "clang"))
                for n in ("host", "uneven", "barriers")]
    recorded("openmp.kymo", ["--mode", "full"], SH, "-c", "; ".join(programs), env={"OMP_NUM_THREADS": "2"})


def level_zero(build):
    """Two drivers' lists, tiles, fences, events, objects that stay."""
    driver, program = (copied(os.path.join(build, "tests", "ze", n)) for n in ("libze_scripted_driver.so", "probe_ze"))
    recorded("ze.kymo", [], *each(program, "basic", "immediate", "tiles", "objects"), env={"ZE_ENABLE_ALT_DRIVERS": driver})


def telemetry(build):
    """Two GPUs of the fake of NVML, networks, a processor's energy and temperature, beside CUDA's kernels; power is asked for."""
    fake = compiled("libcupti-fake.so", *test("cuda/fake.c"))
    program = compiled("cuda_program", *SCENES, fake, flags=["-rdynamic"])
    copied(os.path.join(build, "tests", "telemetry_fakes", "libnvidia-ml.so.1"))
    root = os.path.join(ROOT, "root")
    for path, text in (("class/powercap/intel-rapl:0/name", "package-0"), ("class/powercap/intel-rapl:0/energy_uj", "5000000"),
                       ("class/powercap/intel-rapl:0/max_energy_range_uj", "6000000"), ("class/hwmon/hwmon0/name", "k10temp"),
                       ("class/hwmon/hwmon0/temp1_input", "45000"), ("class/net/eth0/statistics/rx_bytes", "1000"),
                       ("class/net/eth0/operstate", "up"), ("class/net/eth1/statistics/rx_bytes", "1000"), ("class/net/eth1/operstate", "up")):
        os.makedirs(os.path.dirname(os.path.join(root, "sys", path)), exist_ok=True)
        with open(os.path.join(root, "sys", path), "w", encoding="utf-8") as f:
            f.write(text + "\n")
    os.symlink("/proc", os.path.join(root, "proc"))
    steps = "; ".join(f"echo {1000 + 700 * i} > {root}/sys/class/net/eth{i % 2}/statistics/rx_bytes; "
                      f"echo {5000000 + 90000 * i} > {root}/sys/class/powercap/intel-rapl:0/energy_uj; sleep 0.04" for i in range(1, 9))
    recorded("telemetry.kymo", ["--telemetry=20"], SH, "-c", f"{program} basic; {steps}; {program} two_devices",
             env={"KYMO_CUPTI": fake, "FAKE_VERSION": "130001", "FAKE_DEVICES": "2", "KYMO_TELEMETRY_ROOT": root})


def many_kernels(name, *options, scenes):
    fake = compiled("libcupti-fake.so", *test("cuda/fake.c"))
    program = compiled("cuda_program", *SCENES, fake, flags=["-rdynamic"])
    recorded(name + ".kymo", options, *each(program, *scenes), env={"KYMO_CUPTI": fake, "FAKE_VERSION": "130001", "FAKE_DEVICES": "2"})


def lost():
    """Records that found no room, and those that the runtime has dropped."""
    many_kernels("lost", "--on-full", "drop", "--buffer-size", "64K", scenes=["many 4000", "drop"])


def flight():
    """Records that gave way to newer ones."""
    many_kernels("flight", "--on-full", "overwrite", "--buffer-size", "64K", scenes=["many 2000", "basic"])


def killed():
    """Two processes of one program that are killed in their calls."""
    program = compiled("host_wait", *test("wait/program.c"))
    recorded("killed.kymo", ["--backends", "all,wait", "--threads", "--no-compress"], SH, "-c",
             f"{program} each & a=$!; sleep 0.05; {program} each & b=$!; sleep 0.15; kill -9 $a $b; wait")


def kinds(build):
    """A trace that no program recorded: records of every kind."""
    os.makedirs(RUN, exist_ok=True)
    must(os.path.join(build, "bin", "every_kind"), os.path.join(RUN, "kinds.kymo"))


RECORDINGS = {f.__name__: f for f in (cuda, profile, opencl, lines, mpi, host, annotations, openmp, level_zero, telemetry, lost, flight, killed, kinds)}


def pack(name, folder):
    """The traces of a recording, without times and owners, so that the archive depends on the traces alone."""
    def plain(info):
        info.mtime, info.uid, info.gid, info.uname, info.gname, info.mode = 0, 0, 0, "", "", 0o755 if info.isdir() else 0o644
        return info

    for trace in glob.glob(os.path.join(folder, "*.kymo")):
        if "__vdso" in must(KYMO, "export", "--to", "jsonl", "-o", "-", trace):
            sys.exit(f"{trace}: a stack ends in the vDSO, whose functions have no names on other machines: record it again")
    with tarfile.open(os.path.join(HERE, "kept", name + ".tar.xz"), "w:xz", preset=9) as archive:
        for trace in sorted(glob.glob(os.path.join(folder, "*.kymo"))):
            manifest = os.path.join(trace, "manifest.json")
            if os.path.exists(manifest):
                with open(manifest, encoding="utf-8") as f:
                    text = f.read().replace(f'"kernel": "{os.uname().release}"', '"kernel": "6.1.0"')
                with open(manifest, "w", encoding="utf-8") as f:
                    f.write(text)
            archive.add(trace, os.path.basename(trace), filter=plain)


def main():
    build, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(RECORDINGS)
    if os.path.exists(ROOT):
        sys.exit(f"{ROOT} is there: it is made for the recordings and removed behind them")
    try:
        for folder in ("bin", "lib", "home", "tmp", "kymo/bin"):
            os.makedirs(os.path.join(ROOT, folder))
        shutil.copy(os.path.join(build, "bin", "kymo"), KYMO)
        shutil.copytree(os.path.join(build, "lib"), os.path.join(ROOT, "kymo", "lib"), symlinks=True)
        shutil.copytree(os.path.join(build, "share"), os.path.join(ROOT, "kymo", "share"))
        for program in "sh", "sleep":
            copy = os.path.join(ROOT, "bin", program)
            shutil.copy("/bin/" + program, copy)
            own_libraries(copy)
            must("patchelf", "--set-interpreter", os.path.join(LIB, "ld-linux-x86-64.so.2"), copy)
        for name in names:
            os.makedirs(RUN)
            RECORDINGS[name](*([build] if RECORDINGS[name].__code__.co_argcount else []))
            pack(name, RUN)
            shutil.rmtree(RUN)
    finally:
        shutil.rmtree(ROOT)


if __name__ == "__main__":
    main()
