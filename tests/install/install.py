#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed package, as a stranger uses it: install.py BUILD SOURCE HEAT ANNOTATED.

Installs into one folder and moves it to another, where everything must work: `kymo` records; the
example tools build with pkg-config and with CMake, run, and say what the program did; runtimes find
the register library, programs the annotations of C, Fortran and Python; every piece of C in the
manual compiles."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

FRAMES, STEPS = 10, 8
MOST_BYTES = 11_000_000
WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
CONSUMER = """cmake_minimum_required(VERSION 3.21)
project(consumer C CXX)
set(CMAKE_CXX_STANDARD 11)
find_package(kymo 0.1 REQUIRED)
foreach(tool {tools})
  get_filename_component(name ${{tool}} NAME_WE)
  add_library(${{name}} MODULE ${{tool}})
  target_link_libraries(${{name}} PRIVATE kymo::kymo)
endforeach()
add_executable(registers registers.c)
target_link_libraries(registers PRIVATE kymo::register)
add_executable(marks marks.c)
target_link_libraries(marks PRIVATE kymo::marker)
"""
REGISTERS = """#define KYMO_REGISTER_NO_DYNAMIC
#include <kymo/register.h>
#include <stdio.h>
static kymo_status_t count(const kymo_registration_info_t *info, void *n) { ++*(int *)n; return KYMO_OK; }
int main(void) { int n = 0; kymo_registrations(count, &n); printf("%d tables\\n", n); return n; }
"""
MARKS = """#include <kymo/marker.h>
int main(void) { kymo_range_push("a"); return kymo_range_pop() != KYMO_MARKER_OFF; }
"""
FORTRAN = "program p\n use kymo\n call kymo_mark('here')\nend program\n"


def run(*argv, status=0, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, **options)
    if done.returncode != status:
        sys.exit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def check(what, holds, seen=""):
    print(("ok   " if holds else "FAIL ") + what, flush=True)
    if not holds:
        sys.exit(str(seen)[-4000:] or 1)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Package:
    """An installation that was moved after it was made."""

    def __init__(self, build, folder):
        first = os.path.join(folder, "first")
        self.prefix = os.path.join(folder, "second", "kymo")
        run("cmake", "--install", build, "--prefix", first, "--strip")
        os.mkdir(os.path.dirname(self.prefix))
        shutil.move(first, self.prefix)
        (pc,) = glob.glob(f"{self.prefix}/**/pkgconfig/kymo.pc", recursive=True)
        self.pkgconfig = os.path.dirname(pc)
        self.libraries = os.path.dirname(self.pkgconfig)
        self.bare = {"PATH": "/usr/bin:/bin", "HOME": folder}

    def ask(self, *question):
        done = run("pkg-config", *question, env={**os.environ, "PKG_CONFIG_PATH": self.pkgconfig})
        return done.stdout.split()

    def env(self, **more):
        return {**self.bare, "OPENCL_LAYERS": f"{self.libraries}/libkymo.so.1",
                "LD_LIBRARY_PATH": self.libraries, **more}


def build_all(package, folder):
    """The tools that were installed as examples, built in both ways: {way: {name: library}}."""
    sources = sorted(glob.glob(f"{package.prefix}/share/kymo/examples/tools/*.c*"))
    flags, made = package.ask("--cflags", "--libs", "kymo"), {"pkg-config": {}, "CMake": {}}
    for source in sources:
        name, ending = os.path.splitext(os.path.basename(source))
        compiler = ("c++", "-std=c++11") if ending == ".cpp" else ("cc", "-std=c11")
        made["pkg-config"][name] = f"{folder}/{name}.so"
        run(*compiler, *WARNINGS, "-shared", "-fPIC", source, *flags, "-o", f"{folder}/{name}.so")
        made["CMake"][name] = f"{folder}/consumer/b/lib{name}.so"
    os.mkdir(f"{folder}/consumer")
    write(f"{folder}/consumer/CMakeLists.txt", CONSUMER.format(tools=" ".join(sources)))
    write(f"{folder}/consumer/registers.c", REGISTERS)
    write(f"{folder}/consumer/marks.c", MARKS)
    run("cmake", "-S", f"{folder}/consumer", "-B", f"{folder}/consumer/b",
        f"-Dkymo_ROOT={package.prefix}")
    run("cmake", "--build", f"{folder}/consumer/b")
    check(f"{len(sources)} examples build with pkg-config and with CMake", len(sources) == 6, sources)
    return made


# ---- what the tools say --------------------------------------------------------------------------

def kernels_of(text):
    """Executions by kernel, from what the histogram tool printed."""
    counts = {}
    for name, n in re.findall(r"^(\w+) +\d+ ns and more: (\d+)$", text, re.M):
        counts[name] = counts.get(name, 0) + int(n)
    return counts


WANTED = {"init": 1, "advance": FRAMES * STEPS, "border": FRAMES * STEPS, "measure": FRAMES}


def test_histogram(package, tools, heat):
    source = f"{package.prefix}/share/kymo/examples/tools/kernel_histogram.c"
    with open(source, encoding="utf-8") as f:
        text = f.read()
    check("the histogram has at most 80 lines and no word of a runtime's API",
          text.count("\n") <= 80 and not re.search(r"\bcl[A-Z]|CL/", text))
    for way, made in tools.items():
        told = run(*heat, env=package.env(KYMO_TOOLS=made["kernel_histogram"])).stderr
        check(f"kernels of the histogram built by {way}", kernels_of(told) == WANTED, told)


def test_calls(package, tools, heat):
    for way, made in tools.items():
        both = f"{made['kernel_histogram']}:{made['call_trace']}"
        told = run(*heat, env=package.env(KYMO_TOOLS=both)).stderr
        check(f"{way}: two tools side by side: kernels", kernels_of(told) == WANTED, told)
        calls = re.findall(r"opencl:clEnqueueNDRangeKernel\((.*)\) #\d+ = 0, \d+ ns", told)
        check(f"{way}: two tools side by side: {len(calls)} calls",
              len(calls) == sum(WANTED.values()), told)
        check(f"{way}: arguments by reflection",
              all(re.search(r"kernel=0x[0-9a-f]+, work_dim=\d, .*global_work_size=\[\d+", c)
                  for c in calls) and "options=" in told and "flags=CL_MEM_" in told, told)


def test_memory(package, tools, programs):
    for way, made in tools.items():
        told = run(f"{programs}/leaky", env=package.env(KYMO_TOOLS=made["memory"])).stderr
        check(f"{way}: most memory and what is left",
              "device memory: at most 8000 bytes, at the end 3000\n" in told, told)
        check(f"{way}: the leak and its call",
              re.findall(r"never freed: (\d+) bytes of (\w+) at 0x", told) ==
              [("3000", "clCreateBuffer")], told)


def test_phases(package, tools, annotated):
    row = re.compile(r"^(\S+) +(\d+) times, (\d+) ns; kernels (\d+), (\d+) ns; copies (\d+), ", re.M)
    for way, made in tools.items():
        # Preloaded, so that the ranges before the first call of a runtime are seen, too.
        told = run(annotated, env=package.env(KYMO_TOOLS=made["phases"],
                                              LD_PRELOAD=f"{package.libraries}/libkymo.so.1")).stderr
        rows = {r[0]: (int(r[1]), int(r[3]), int(r[5])) for r in row.findall(told)}
        check(f"{way}: phases, their runs, kernels and copies",
              rows == {"(outside)": (0, 0, 1), "setup": (1, 0, 0), "build": (1, 0, 0),
                       "solve": (1, 0, 1), "step": (5, 5, 0), "shift": (5, 5, 0)}, told)
        check(f"{way}: host and device times",
              all(int(r[2]) > 0 for r in row.findall(told) if int(r[1])) and
              all(int(r[4]) > 0 for r in row.findall(told) if int(r[3])), told)


def test_flight_recorder(package, tools, heat):
    heat = [*heat, "--frames", "3000"]  # a kernel is slow long before the end
    said = r"a slow kernel: (\d+) records kept, (\d+) had given way, 0 lost \(OK"
    for way, made in tools.items():
        env = package.env(KYMO_TOOLS=made["flight_recorder"], SLOW_NS="1")
        told = run(*heat, env=env).stderr
        found = re.findall(said, told)
        check(f"{way}: a slow kernel, once", len(found) == 1 and int(found[0][0]) > 0, told)
        lines = len(re.findall(r"^\d+ \+\d+ ns thread \d+ \w+:\w+ #\d+$", told, re.M))
        check(f"{way}: as many lines as it says it kept", lines == int(found[0][0]), told)
        told = run(*heat, env={**env, "SLOW_NS": str(10 ** 15)}).stderr
        check(f"{way}: nothing slow, nothing said", told == "", told)


def test_late_attach(package, tools, programs, folder):
    for way, made in tools.items():
        fifo = f"{folder}/go-{way}"
        os.mkfifo(fifo)
        env = package.env(KYMO_TOOLS=made["late_attach"], ATTACH=fifo)
        with subprocess.Popen([f"{programs}/patient"], env=env, stdin=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE) as p:
            told = p.stderr.readline()
            check(f"{way}: a kernel that was there before the tool",
                  told == "kernel early was there already\n", told)
            p.stdin.close()  # the program runs each of its kernels once more, and ends
            told = p.stderr.read()
            check(f"{way}: kernels by name afterwards", p.wait(60) == 0 and
                  sorted(told.splitlines()) == ["kernel early runs", "kernel later is new",
                                                "kernel later runs"], told)


# ---- everything else -----------------------------------------------------------------------------

def test_kymo(package, heat, folder):
    kymo, trace = f"{package.prefix}/bin/kymo", f"{folder}/t.kymo"
    run(kymo, "run", "--no-summary", "-o", trace, *heat, env=package.bare, cwd=folder)
    told = run(kymo, "info", trace, env=package.bare).stdout
    check("the installed kymo records", re.search(r"dispatch +\d+", told) is not None, told)


def test_register(package, folder):
    run("cc", *WARNINGS, f"{folder}/consumer/registers.c",
        *package.ask("--cflags", "--libs", "kymo-register"), "-o", f"{folder}/registers")
    for way in (f"{folder}/registers", f"{folder}/consumer/b/registers"):
        told = run(way, env={**package.bare, "LD_LIBRARY_PATH": package.libraries}).stdout
        check("a runtime finds the register library", told == "0 tables\n", told)
    run(f"{folder}/consumer/b/marks")


def test_languages(package, folder):
    flags = package.ask("--cflags", "--libs", "kymo-marker")
    run("cc", *WARNINGS, f"{folder}/consumer/marks.c", *flags, "-o", f"{folder}/marks")
    run(f"{folder}/marks")
    check("annotations link nothing", not any(f.startswith("-l") for f in flags), flags)
    (python,) = package.ask("--variable=pythondir", "kymo-marker")
    told = run(sys.executable, "-c", "import kymo; kymo.mark('x'); print(kymo.__file__)",
               env={**package.bare, "PYTHONPATH": python, "PYTHONDONTWRITEBYTECODE": "1"}).stdout
    check("the Python package", os.path.realpath(told.strip()).startswith(
        os.path.realpath(package.prefix)), told)
    (fortran,) = package.ask("--variable=fortrandir", "kymo-marker")
    if not shutil.which("gfortran"):
        print("skip Fortran: there is no gfortran")
        return
    write(f"{folder}/p.f90", FORTRAN)
    run("gfortran", f"{fortran}/kymo.f90", f"{folder}/p.f90", "-c", cwd=folder)
    run("cc", "-c", *flags, f"{fortran}/kymo_fortran.c", "-o", f"{folder}/kymo_fortran.o")
    run("gfortran", "kymo.o", "p.o", "kymo_fortran.o", "-o", "p", cwd=folder)
    run(f"{folder}/p")
    check("the Fortran module", True)


def test_headers(package, source):
    run("sh", f"{source}/tests/abi/headers.sh", f"{package.prefix}/include")
    check("installed headers stand alone, arguments of OpenCL among them",
          os.path.exists(f"{package.prefix}/include/kymo/args/opencl.h"))


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def manual_names(text, package, source):
    """What the manual names must be there: functions in the headers, ops of activities in ops.txt."""
    headers = "".join(read(h) for h in glob.glob(f"{package.prefix}/include/kymo/**/*.h", recursive=True))
    missing = {n for n in re.findall(r"\bkymo_\w+", text) if n not in headers}
    check("functions and types of the manual are in the headers", not missing, missing)
    ops = {}
    for line in read(f"{source}/tests/abi/ops.txt").splitlines():
        ops.setdefault(line.split()[0], []).append(line.split()[2])
    rows = {d: re.findall(r"`(\w+)`", o)
            for d, o in re.findall(r"^\| `(\w+)`(?:\\\*|\*)? \| (.*?) \| .*\|$", text, re.M) if d in ops}
    wrong = {d: o for d, o in rows.items() if not set(o) >= set(ops[d])}
    check(f"ops of {len(rows)} activity domains", len(rows) == 15 and not wrong, wrong)


def test_manual(package, source, folder):
    """Every ```c block compiles by itself, with the usual headers if it includes none."""
    (manual,) = glob.glob(f"{package.prefix}/**/tools.md", recursive=True)
    manual_names(read(manual), package, source)
    blocks = re.findall(r"^```c\n(.*?)^```$", read(manual), re.M | re.S)
    for i, block in enumerate(blocks):
        if "#include" not in block:
            block = f"#include <kymo/kymo.h>\n#include <stdio.h>\n#include <string.h>\n{block}"
        write(f"{folder}/block{i}.c", block)
        run("cc", "-std=c11", *WARNINGS, "-Wno-unused-function", "-Wno-unused-variable", "-fPIC",
            "-shared", "-Wl,--no-undefined", f"{folder}/block{i}.c",
            *package.ask("--cflags", "--libs", "kymo"), "-o", f"{folder}/block{i}.so")
    check(f"{len(blocks)} pieces of C in the manual compile and link", len(blocks) > 5)


def test_destdir(build, folder):
    run("cmake", "--install", build, env={**os.environ, "DESTDIR": f"{folder}/dest"})
    found = {os.path.relpath(p, f"{folder}/dest")
             for p in glob.glob(f"{folder}/dest/**/*", recursive=True) if os.path.isfile(p)}
    names = {os.path.basename(p) for p in found}
    check("DESTDIR", {"kymo", "libkymo.so.1", "libkymo-inject.so", "libkymo-register.so.1", "kymo.h",
                      "kymo.pc", "kymo-marker.pc", "kymo-register.pc", "kymo-config.cmake",
                      "kymo.f90", "__init__.py", "tools.md", "store.md", "kymo.1", "kymo-run.1", "_kymo",
                      "kymo.fish"} <= names, names)
    if os.path.exists(f"{build}/lib/kymo/kymo_sqlite.so"):
        check("the extension of SQLite is installed",
              [p for p in found if p.endswith("/kymo/kymo_sqlite.so")], found)
    shutil.rmtree(f"{folder}/dest")


def test_size(source, package):
    """`make install` strips; what it installs is small, and has what programs link against all the same."""
    def recipe(*more):
        return run("make", "-n", "-C", source, "install", *more).stdout

    check("make install strips, and not with DEBUG=1",
          "--strip" in recipe() and "--strip" not in recipe("DEBUG=1"), recipe())
    files = [p for p in glob.glob(f"{package.prefix}/**/*", recursive=True)
             if os.path.isfile(p) and not os.path.islink(p)]
    total = sum(os.path.getsize(p) for p in files)
    check(f"an installation takes {total / 1e6:.1f} MB of at most 11", total <= MOST_BYTES,
          sorted((os.path.getsize(p), p) for p in files)[-10:])
    for path in files:
        with open(path, "rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        sections = run("readelf", "-SW", path).stdout
        check(f"{os.path.relpath(path, package.prefix)} has no debug information",
              ".debug_info" not in sections and ".symtab" not in sections, sections)


def main():
    build, source, heat, annotated, programs = sys.argv[1:]
    heat = [heat, "--size", "128", "--frames", str(FRAMES), "--steps", str(STEPS)]
    with kymotest.Folder() as folder:
        test_destdir(build, folder)
        package = Package(build, folder)
        test_size(source, package)
        test_kymo(package, heat, folder)
        tools = build_all(package, folder)
        test_histogram(package, tools, heat)
        test_calls(package, tools, heat)
        test_memory(package, tools, programs)
        test_phases(package, tools, annotated)
        test_flight_recorder(package, tools, heat)
        test_late_attach(package, tools, programs, folder)
        test_register(package, folder)
        test_languages(package, folder)
        test_headers(package, source)
        test_manual(package, source, folder)


main()
