#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo run with plain programs: status, signals, terminal, descriptors, CPUs, bad command lines.

Usage: run.py KYMO OCL_SLEEPY
Each test is a function test_*; what a program sees is compared with what it sees without Kymo.
"""
import glob
import json
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Failure, expect  # noqa: E402

KYMO, SLEEPY = map(os.path.abspath, sys.argv[1:3])
PYTHON = sys.executable


def kymo(*words, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([KYMO, *words], capture_output=True, text=True, timeout=60,
                          **{k: v for k, v in options.items() if k != "stdin"},
                          **({"stdin": options["stdin"]} if "input" not in options else {}))


def traces():
    return sorted(glob.glob("*.kymo"))


def manifest(path):
    with open(path + "/manifest.json", encoding="utf-8") as f:
        return json.load(f)


def read_line(fd):
    """A line from a descriptor, without buffering what follows."""
    line = b""
    while not line.endswith(b"\n"):
        expect(select.select([fd], [], [], 30)[0], "nothing came within 30 s after", line)
        byte = os.read(fd, 1)
        if not byte:
            break
        line += byte
    return line.decode().strip()


# ---- how it ends

def test_status():
    for status in (0, 1, 7, 126, 255):
        p = kymo("run", "--no-summary", "sh", "-c", f"exit {status}")
        expect(p.returncode == status, status, "became", p.returncode, p.stderr)
        expect(p.stdout == "" and p.stderr == "", "something was printed:", p)


def test_signal():
    for sig in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGABRT, signal.SIGSEGV,
                signal.SIGUSR1, signal.SIGPIPE):
        p = kymo("--no-summary", "sh", "-c", f"kill -{int(sig)} $$")
        expect(p.returncode == -sig, sig, "became", p.returncode, p.stderr)
    last = traces()[-1]
    expect(any(manifest(t)["program"].get("signal") == signal.SIGUSR1 for t in traces()), last)


def test_streams():
    text = "one\ntwo\n" * 5000
    p = kymo("run", "--no-summary", "cat", input=text)
    expect(p.stdout == text, "standard input or output is not as it was")
    expect(p.stderr == "", p.stderr)
    p = kymo("run", "cat", input=text)
    expect(p.stdout == text, "the summary went to standard output")


# ---- what it sees

PROBE = """
import os, signal, sys, json
fds = []
for f in os.listdir('/proc/self/fd'):
    try:
        fds.append((int(f), os.readlink('/proc/self/fd/' + f)))
    except OSError:
        pass # the directory itself
status = {l.split(':')[0]: l.split()[1] for l in open('/proc/self/status') if l.startswith('Sig')}
status.pop('SigQ')
if 'TEST_SANITIZED' in os.environ:
    status.pop('SigCgt') # the sanitizer that comes in with the library catches signals
print(json.dumps({'fds': sorted(x for x in fds if not x[1].startswith('/proc')),
    'signals': status, 'cpus': sorted(os.sched_getaffinity(0)), 'cwd': os.getcwd(),
    'argv': sys.argv, 'nice': os.nice(0), 'group': os.getpgrp() == os.getpgid(os.getppid()),
    'session': os.getsid(0) == os.getsid(os.getppid()), 'umask': os.umask(0),
    'limit': __import__('resource').getrlimit(__import__('resource').RLIMIT_CORE)}))
"""


def probe(prefix, **options):
    p = subprocess.run(prefix + [PYTHON, "-c", PROBE, "a b", "", "*"], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, timeout=60, check=True, **options)
    return json.loads(p.stdout)


def test_inheritance():
    extra = os.open("/dev/zero", os.O_RDONLY)
    os.set_inheritable(extra, True)
    cpu = {min(os.sched_getaffinity(0))}

    def change():
        os.sched_setaffinity(0, cpu)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGWINCH})
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        os.umask(0o27)

    for setup in (None, change):
        plain = probe([], preexec_fn=setup, close_fds=False)
        traced = probe([KYMO, "run", "--no-summary"], preexec_fn=setup, close_fds=False)
        for key, value in plain.items():
            if key == "fds": # the pipe has another number
                value = [(n, p.split(":")[0]) for n, p in value]
                traced[key] = [(n, p.split(":")[0]) for n, p in traced[key]]
            expect(traced[key] == value, key, "is", traced[key], "and was", value)
    os.close(extra)


# ---- signals to the launcher

CATCH = """
import os, signal, sys
seen = []
def note(s, f):
    os.write(1, f'{s}\\n'.encode())
    if s == signal.SIGTERM:
        sys.exit(5)
for s in (signal.SIGHUP, signal.SIGUSR1, signal.SIGINT, signal.SIGWINCH, signal.SIGTERM):
    signal.signal(s, note)
r, w = os.pipe() # a signal right before signal.pause() would be slept through
os.set_blocking(w, False)
signal.set_wakeup_fd(w)
os.write(1, b'ready\\n')
while True:
    os.read(r, 64)
"""


def test_signals_are_passed_on():
    p = subprocess.Popen([KYMO, "run", "--no-summary", PYTHON, "-c", CATCH], stdout=subprocess.PIPE)
    fd = p.stdout.fileno()
    expect(read_line(fd) == "ready", "not ready")
    for sig in (signal.SIGHUP, signal.SIGUSR1, signal.SIGINT, signal.SIGWINCH, signal.SIGTERM):
        p.send_signal(sig)
        line = read_line(fd)
        expect(line == str(int(sig)), "sent", sig, "got", line)
    expect(p.wait(30) == 5, "status", p.returncode)


def start_on_terminal(command):
    """Runs it as a shell would run a foreground job; returns pid, terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    return pid, terminal


def no_terminals():
    """Why terminals cannot be tested here, or None: a bare root may have no /dev/pts."""
    try:
        for fd in os.openpty():
            os.close(fd)
    except OSError as e:
        return f"no pseudo-terminals: {e}"
    return None


def test_terminal_interrupt_comes_once():
    if no_terminals():
        return no_terminals()
    pid, terminal = start_on_terminal([KYMO, "run", "--no-summary", PYTHON, "-c", CATCH])
    expect(read_line(terminal) == "ready", "not ready")
    for _ in range(3):
        os.write(terminal, b"\x03")
        line = read_line(terminal)
        expect(line in ("^C2", "2"), "interrupt gave", line)
    expect(not select.select([terminal], [], [], 0.2)[0], "an interrupt came twice")
    os.kill(pid, signal.SIGTERM)
    expect(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5, "status")
    os.close(terminal)


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def await_state(pid, states):
    deadline = time.monotonic() + 30
    while state_of(pid) not in states:
        expect(time.monotonic() < deadline, pid, "never was in", states)
        os.sched_yield()


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        for child in f.read().split():
            with open(f"/proc/{child}/comm", encoding="utf-8") as comm:
                if not comm.read().startswith("kymo"):
                    return int(child)
    raise Failure("no child")


def test_job_control():
    if no_terminals():
        return no_terminals()
    pid, terminal = os.forkpty()
    if pid == 0:
        # A session leader that stops would be an orphan: a child in a group of its own.
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execv(KYMO, [KYMO, "run", "--no-summary", PYTHON, "-c", CATCH])
        while True:
            _, status = os.waitpid(job, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                os.write(1, b"stopped\n")
                os.kill(-job, signal.SIGCONT)
            else:
                os._exit(os.waitstatus_to_exitcode(status))
    expect(read_line(terminal) == "ready", "not ready")
    os.write(terminal, b"\x1a")
    line = read_line(terminal)
    expect(line in ("^Zstopped", "stopped"), "the job did not stop:", line)
    os.write(terminal, b"\x03")
    line = read_line(terminal)
    expect(line in ("^C2", "2"), "after going on, interrupt gave", line)
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        launcher = int(f.read().split()[0])
    os.kill(launcher, signal.SIGTSTP) # to the launcher alone: the program stops, then it
    expect(read_line(terminal) == "stopped", "the job did not stop a second time")
    os.kill(launcher, signal.SIGTERM)
    line = read_line(terminal)
    expect(line == "15", "got", line)
    expect(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5, "status")
    os.close(terminal)


def test_stopped_by_somebody_else():
    """A debugger or cpulimit stops and continues the program alone, with any signal: the launcher waits on."""
    # In a group of its own: in an orphaned one, as of a daemon's child, SIGTSTP stops nobody.
    p = subprocess.Popen([KYMO, "run", "--no-summary", PYTHON, "-c", CATCH], stdout=subprocess.PIPE,
                         preexec_fn=os.setpgrp)
    fd = p.stdout.fileno()
    expect(read_line(fd) == "ready", "not ready")
    program = child_of(p.pid)
    for sig in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGSTOP):
        os.kill(program, sig)
        await_state(program, "T")
        # It has looked at what the stop told it when it passes on what came later.
        p.send_signal(signal.SIGUSR1)
        await_state(p.pid, "S")
        os.kill(program, signal.SIGCONT)
        line = read_line(fd)
        expect(line == str(int(signal.SIGUSR1)), "after going on, got", line)
        expect(state_of(p.pid) != "T", "the launcher has stopped by", sig)
    p.terminate()
    expect(p.wait(60) == 5, "status", p.returncode)


# ---- the drain

def drains(name="kymo-drain"):
    """Drains of this test: others run beside it."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path, encoding="utf-8") as f:
                if f.read().strip() != name:
                    continue
            with open(path.replace("/comm", "/environ"), "rb") as f:
                if f"TEST_MARK={os.getpid()}".encode() in f.read().split(b"\0"):
                    found.add(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def child_among(parent, these):
    with open(f"/proc/{parent}/task/{parent}/children", encoding="utf-8") as f:
        return next(int(c) for c in f.read().split() if int(c) in these)


def keeper_of(launcher):
    return child_among(launcher, drains("kymo-keeper"))


def drain_of(launcher):
    return child_among(keeper_of(launcher), drains())


def test_nobody_reads_the_summary():
    """A pipe that is closed before the summary is written to it does not change the program's status."""
    p = subprocess.Popen([KYMO, "run", "-f", "-o", "t.kymo", "sh", "-c", "read x; exit 5"], stdin=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    p.stderr.close()
    p.stdin.close()
    expect(p.wait(60) == 5, "status", p.returncode)


def start_sleepy(*words):
    p = subprocess.Popen([KYMO, "run", *words, SLEEPY, "--file", "progress"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    await_progress(20)
    return p


def progress():
    try:
        with open("progress", "rb") as f:
            return int.from_bytes(f.read(8), "little")
    except OSError:
        return 0


def await_progress(more):
    goal, deadline = progress() + more, time.monotonic() + 30
    while progress() < goal:
        expect(time.monotonic() < deadline, "the program does not get on:", progress(), "of", goal)
        time.sleep(0.001)


def test_keeper_and_drain_are_killed():
    p = start_sleepy("-o", "t.kymo")
    keeper, drain = keeper_of(p.pid), drain_of(p.pid)
    os.kill(keeper, signal.SIGKILL) # there is no other then
    os.kill(drain, signal.SIGKILL)
    await_progress(200) # the program does not suffer
    p.terminate()
    _, err = p.communicate(timeout=30)
    expect(p.returncode == -signal.SIGTERM, "status", p.returncode)
    expect("drain ended unexpectedly" in err, err)


def test_launcher_is_killed():
    p = start_sleepy("-o", "t.kymo")
    program, drain = child_of(p.pid), drain_of(p.pid)
    p.kill()
    p.wait(30)
    p.stderr.close()
    await_progress(50)
    os.kill(program, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while manifest("t.kymo")["state"] != "complete":
        expect(time.monotonic() < deadline, "the drain", drain, "did not finish")
        time.sleep(0.001)
    processes = manifest("t.kymo")["processes"]
    expect(len(processes) == 1 and processes[0]["ended"] == "killed", processes)


def test_child_outlives_program():
    script = f"rm -f progress; {SLEEPY} --file progress >/dev/null 2>&1 & " \
             "until [ -s progress ] && ! cmp -s -n 8 progress /dev/zero; do :; done; echo $!"
    p = kymo("run", "--no-summary", "-o", "t.kymo", "sh", "-c", script)
    expect(p.returncode == 0, p)
    child = int(p.stdout)
    try:
        expect("recorded in the background" in p.stderr, p.stderr)
        expect(manifest("t.kymo")["state"] == "recording", "the manifest is ahead of its time")
        await_progress(20)
    finally:
        os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + 30
    while manifest("t.kymo")["state"] != "complete":
        expect(time.monotonic() < deadline, "the drain did not finish")
        time.sleep(0.001)


def test_full_file_system():
    os.mkdir("small")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", "small"],
                      stderr=subprocess.DEVNULL, check=False).returncode:
        return "tmpfs cannot be mounted here"
    try:
        with open("small/fill", "wb") as f:
            f.write(b"x" * (2 << 20))
        p = start_sleepy("-o", "small/t.kymo", "--no-summary", "--mode", "full")
        deadline = time.monotonic() + 60
        while os.statvfs("small").f_bavail * 4096 > 64 << 10:
            expect(time.monotonic() < deadline, "it never got full")
            time.sleep(0.01)
        await_progress(20000)
        p.terminate()
        _, err = p.communicate(timeout=30)
        expect(p.returncode == -signal.SIGTERM, "status", p.returncode)
        expect("cut short: No space left" in err, "said:", err)
        with open("small/fill2", "wb", buffering=0) as f:
            try:
                while f.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        p = kymo("run", "-o", "small/new/u.kymo", "true")
        expect(p.returncode == 3 and "small" in p.stderr, p)
        expect(not os.path.exists("small/new"), "left", os.listdir("small"))
    finally:
        subprocess.run(["umount", "-l", "small"], check=True)
    return None


# ---- poor surroundings

def limited(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_few_open_files():
    """A run for which too few files can be open is refused, by its reason, and leaves nothing."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    os.mkdir("places")
    env = {**os.environ, "XDG_RUNTIME_DIR": os.path.abspath("places")}
    for soft in range(5, 11):
        refused(3, "Too many open files; raise the limit of open files (ulimit -n)", "run", "true", preexec_fn=limited(soft, most), env=env)
        expect(not os.listdir("places"), "places were left")
    refused(3, "the hard limit of open files (ulimit -Hn) is 23: a recording takes 24 at least", "run", "true",
            preexec_fn=limited(23, 23))
    p = kymo("run", "--no-summary", "--threads", "-o", "few.kymo", "true", preexec_fn=limited(24, 24))
    expect(p.returncode == 0 and p.stderr == "", p)
    expect(kymotest.query(KYMO, "few.kymo", "SELECT count(*) FROM process WHERE exit_status = 0")[0], "recorded")


def test_small_stack():
    """A launcher whose stack is small, as the program's is: summary, telemetry."""
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, resource.RLIM_INFINITY))
    for words in (["-o", "t.kymo"], ["--telemetry=10", "-o", "u.kymo"]):
        p = kymo("run", *words, "sh", "-c", "exit 5", preexec_fn=limit)
        expect(p.returncode == 5 and "trace in" in p.stderr, p)


def test_without_proc():
    """Kymo finds itself by the name it was started by."""
    if "TEST_SANITIZED" in os.environ:
        return "the sanitizer that Kymo itself is built with needs /proc"
    script = 'mount -t tmpfs none /proc && exec "$@"'
    if subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "true"], capture_output=True,
                      check=False).returncode:
        return "/proc cannot be covered here (unshare -m, mount)"
    for command in (KYMO, "./link"):
        if command != KYMO:
            os.symlink(KYMO, "link")
        p = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", command, "run", "--no-summary", "-f", "-o",
                            "t.kymo", "sh", "-c", "exit 5"], capture_output=True, text=True, timeout=60, check=False)
        expect(p.returncode == 5, p)
    return None


def test_unreadable_installation():
    """Libraries that are there and may not be read are not said to be missing; missing ones are."""
    if os.getuid() != 0:
        return "needs to become another user"
    build = os.path.dirname(os.path.dirname(KYMO))
    os.chmod(".", 0o755)
    for name in ("bin", "lib", "out"):
        os.mkdir(name)
    os.chmod("out", 0o777)
    shutil.copy(KYMO, "bin/kymo")

    def run():
        return subprocess.run([f"{os.getcwd()}/bin/kymo", "run", "true"], capture_output=True, text=True, cwd="out",
                              timeout=60, check=False, user=65534, group=65534)
    installed = "neither beside" not in run().stderr
    if not installed:
        expect("the installation is incomplete" in run().stderr, run().stderr)
    shutil.copy(f"{build}/lib/libkymo-inject.so", "lib")
    os.chmod("lib/libkymo-inject.so", 0)
    p = run()
    if installed:
        return "an installed Kymo is found instead"
    expect(p.returncode == 3 and "lib/libkymo-inject.so may not be read: Permission denied" in p.stderr, p)
    return None


# ---- bad command lines

def refused(status, said, *words, **options):
    before = traces()
    p = kymo(*words, **options)
    expect(p.returncode == status, words, "gave", p.returncode, p.stderr)
    expect(said in p.stderr, words, "said", p.stderr)
    expect(p.stdout == "", words, "printed", p.stdout)
    expect(traces() == before, words, "left", traces())


def test_bad_programs():
    with open("plain", "w", encoding="utf-8") as f:
        f.write("echo hello\n")
    refused(127, "there is no such program", "run", "nosuchprogram")
    write_script("myscript")
    refused(127, "did you mean \"./myscript\"", "run", "myscript")
    refused(127, "there is no such program", "run", "./nosuchprogram")
    refused(126, "not executable", "run", "./plain")
    refused(126, "cannot be executed: Is a directory", "run", "/tmp")
    os.chmod("plain", 0o755)
    p = kymo("--no-summary", "./plain") # as execvp() does
    expect(p.stdout == "hello\n", p)
    write_script("orphan", "#!/no/such/interpreter -x\n")
    refused(126, "/no/such/interpreter", "run", "./orphan")
    refused(2, "no program is named", "run")
    refused(2, "did you mean --output?", "run", "--outptu", "x", "true")
    refused(2, "did you mean \"run\"", "rum", "true")


HERE = os.path.dirname(os.path.abspath(__file__))


def build_sanitized(name, compiler, *flags):
    """False: there is no such compiler or runtime here."""
    built = subprocess.run([compiler, "-g", *flags, "-I", f"{HERE}/../../include", "-o", name,
                            f"{HERE}/sanitized.c", "-ldl", "-lpthread"], capture_output=True, check=False) \
        if shutil.which(compiler) else None
    if not built or built.returncode:
        return False
    return subprocess.run([f"./{name}"], capture_output=True, check=False).returncode == 5


def clang_runtime():
    p = subprocess.run(["clang", "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True, text=True,
                       check=False) if shutil.which("clang") else None
    return os.path.dirname(p.stdout.strip()) if p else ""


def test_sanitizers():
    """Programs whose sanitizer's runtime is a library that wants to be first run as they do alone."""
    if "TEST_SANITIZED" in os.environ:
        return "Kymo itself is built with a sanitizer"
    shared = ("-fsanitize=address", "-shared-libsan", f"-Wl,-rpath,{clang_runtime()}")
    kinds = [(s, "gcc", f"-fsanitize={s}") for s in ("address", "thread", "undefined", "leak")]
    kinds += [("own", "gcc", "-fsanitize=address", "-DOWN_OPTIONS"), ("clang", "clang", *shared)]
    there = [k[0] for k in kinds if build_sanitized(*k)]
    for name in there:
        p = kymo("run", "-o", f"{name}.kymo", f"./{name}")
        expect(p.returncode == 5 and "runtime does not come first" not in p.stderr, name, p)
        shown = kymo("show", f"{name}.kymo").stdout
        expect(shown.count("sanitized") == 3, name, shown)
    if "address" in there:  # children: with one, without one, of a script, of one with options of its own
        for words in (["./address", "./address"], ["./address", "/bin/ls", "address"],
                      ["sh", "-c", "./address; echo child $?; exit 5"],
                      *([["./own", "./address"]] if "own" in there else [])):
            p = kymo("run", "--no-summary", "-f", "-o", "c.kymo", *words)
            child = "child 0" if "/bin/ls" in words else "child 5"
            expect(p.returncode == 5 and child in p.stdout and p.stderr == "", words, p)
        p = kymo("run", "--no-summary", "-f", "-o", "c.kymo", "./own",
                 env={**os.environ, "ASAN_OPTIONS": "exitcode=7"})
        expect(p.returncode == 5, p)
    return None if there else "no compiler here builds programs with sanitizers"


def write_script(name, text="#!/bin/sh\necho hello\n"):
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(name, 0o755)


def test_untraceable():
    with open("static.c", "w", encoding="utf-8") as f:
        f.write("int main(void) { return 4; }\n")
    if subprocess.run(["cc", "-static", "-o", "static", "static.c"], check=False,
                      stderr=subprocess.DEVNULL).returncode == 0:
        refused(3, "statically linked", "run", "./static")
        p = kymo("run", "--untraced", "./static")
        expect(p.returncode == 4 and "untraced" in p.stderr, p)
        write_script("by-static", f"#!{os.getcwd()}/static\n")
        refused(3, "statically linked", "run", "./by-static")
    shutil.copy("/bin/true", "suid")
    if os.getuid() == 0:
        os.chown("suid", 1, 1)
        os.chmod("suid", 0o4755)
        refused(3, "setuid", "run", "./suid")


def test_existing_directories():
    os.mkdir("mine")
    with open("mine/thesis", "w", encoding="utf-8") as f:
        f.write("irreplaceable\n")
    refused(3, "exists", "run", "-o", "mine", "true")
    refused(3, "not replaced, even with --force", "run", "--force", "-o", "mine", "true")
    expect(os.path.exists("mine/thesis"), "a directory that is no trace was replaced")
    expect(kymo("run", "-o", "t.kymo", "true").returncode == 0, "first run")
    refused(3, "exists", "run", "-o", "t.kymo", "true")
    expect(kymo("run", "-f", "-o", "t.kymo", "false").returncode == 1, "forced run")
    expect(manifest("t.kymo")["command"] == ["false"], manifest("t.kymo"))
    refused(3, "cannot be made", "run", "-o", "/proc/nowhere/t.kymo", "true")
    names = len(traces())
    for _ in range(3): # default names never meet
        expect(kymo("run", "true").returncode == 0, "default name")
    expect(len(traces()) == names + 3, traces())


def test_nothing_recorded():
    p = kymo("run", "true")
    expect("nothing was recorded" in p.stderr and "trace in" in p.stderr, p.stderr)


def test_dry_run():
    p = kymo("run", "--dry-run", "--mode", "full", "echo", "it's", "$HOME")
    expect(p.returncode == 0, p)
    expect("KYMO_MODE=full" in p.stdout and "LD_PRELOAD=" in p.stdout, p.stdout)
    expect(not traces(), "a dry run left a trace")
    script = p.stdout.replace("KYMO_DRAIN=", "X=").replace("LD_PRELOAD=", "Y=")
    out = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    expect(out == "it's $HOME\n", "the command is not quoted for a shell:", out)


def test_environment():
    p = kymo("run", "--no-summary", "true", env={**os.environ, "KYMO_OUTPTU": "x"})
    expect("did you mean KYMO_OUTPUT?" in p.stderr, p.stderr)
    p = kymo("run", "--no-summary", "sh", "-c", "echo $KYMO_MODE:$LD_PRELOAD",
             env={**os.environ, "KYMO_MODE": "minimal", "LD_PRELOAD": "libm.so.6"})
    mode, preload = p.stdout.strip().split(":", 1)
    expect(mode == "minimal" and ":libm.so.6" in preload, p.stdout)
    mpi = os.path.dirname(os.path.dirname(KYMO)) + "/lib/libkymo-mpi.so"
    if os.path.exists(mpi): # behind other tools of MPI, before an MPI
        for given, wanted in (("/a/tool.so", f":/a/tool.so:{mpi}"),
                              ("/a/tool.so /b/libmpi.so.40 /c.so", f":/a/tool.so:{mpi}:/b/libmpi.so.40:/c.so")):
            p = kymo("run", "--dry-run", "true", env={**os.environ, "LD_PRELOAD": given})
            said = [w for w in p.stdout.split() if "LD_PRELOAD=" in w]
            expect(said and said[0].endswith(wanted), given, p.stdout)
    expect(kymo("run", "true", env={**os.environ, "KYMO_MODE": "loud"}).returncode == 2, "bad mode")
    with open("config", "w", encoding="utf-8") as f:
        f.write("mode = minimal\noutput = from-config.kymo\n")
    p = kymo("run", "--no-summary", "-c", "config", "sh", "-c", "echo $KYMO_MODE")
    expect(p.stdout == "minimal\n" and traces() == ["from-config.kymo", *[t for t in traces()
           if t != "from-config.kymo"]], p, traces())


def test_ranks_share_a_trace():
    ranks = [subprocess.Popen([KYMO, "run", "sh", "-c", "exit 0"], stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "PMIX_NAMESPACE": "job7", "PMIX_RANK": str(i),
                                   "OMPI_COMM_WORLD_SIZE": "4"}) for i in range(4)]
    said = [p.communicate(timeout=30)[1] for p in ranks]
    expect(all(p.returncode == 0 for p in ranks), said)
    expect(traces() == ["sh-job7.kymo"], traces())
    expect(glob.glob("sh-job7.kymo/manifest*.json") == ["sh-job7.kymo/manifest.json"], os.listdir("sh-job7.kymo"))
    with open("sh-job7.kymo/manifest.json", encoding="utf-8") as f:
        manifest = json.load(f)
    launchers = [x for m in (manifest, *manifest.get("nodes", [])) for x in m["launchers"]]
    expect(sorted((x["rank"], x["launcher"], x["status"]) for x in launchers) == [(i, "complete", 0) for i in range(4)],
           launchers)
    expect(all(s == "" for s in said[1:]) and "trace in" in said[0], said)
    expect("still recording" not in said[0], said[0])
    refused(3, "exists", "run", "-o", "sh-job7.kymo", "true",
            env={**os.environ, "PMIX_NAMESPACE": "job8", "PMIX_RANK": "0"})


def main():
    failed, home = 0, os.getcwd()
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    only = sys.argv[3:]
    for name, test in tests:
        if only and name not in only:
            continue
        with kymotest.Folder(prefix="kymo-harm-") as folder:
            os.chdir(folder)
            try:
                skipped = test()
                print("skip" if skipped else "ok  ", name, skipped or "")
            except (Failure, OSError, subprocess.SubprocessError, ValueError) as e:
                failed += 1
                print("FAIL", name, type(e).__name__, e)
            os.chdir(home)
    deadline = time.monotonic() + 30 # the last ones may still be compressing
    while drains() and time.monotonic() < deadline:
        os.sched_yield()
    left = drains()
    if left:
        print("FAIL drains left:", left)
    return 1 if failed or left else 0


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    os.environ["TEST_MARK"] = str(os.getpid())
    sys.exit(main())
