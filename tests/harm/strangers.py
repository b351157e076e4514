#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other users of the machine: nobody gets what is recorded, or has a word in it.

Usage: strangers.py KYMO VICTIM SLEEPY
Runs as root, as two users that need no account: VICTIM records, STRANGER tries. Without root this says
why it does nothing (status 77).
"""
import array
import glob
import json
import mmap
import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Failure, expect, wait_for  # noqa: E402

KYMO, VICTIM_PROGRAM, SLEEPY = map(os.path.abspath, sys.argv[1:4])
VICTIM, STRANGER = 64201, 64202
PATIENCE = 90
PYTHON = next(p for p in ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable) if os.path.exists(p))


def as_user(uid, *words, env=None, cwd=None, **options):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KYMO") and k != "XDG_RUNTIME_DIR"}
    clean.update({"HOME": "/nonexistent", **(env or {})})
    return subprocess.Popen([str(w) for w in words], user=uid, group=uid, extra_groups=[], env=clean, cwd=cwd,
                            stdin=options.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


def run(uid, *words, **options):
    p = as_user(uid, *words, **options)
    out, err = p.communicate(timeout=PATIENCE)
    return p.returncode, out, err


def as_other(uid, fn):
    """What `fn` does in a process of that user; its return value is True or False."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            status = 0 if fn() else 1
        except OSError:
            pass
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def folders():
    """Each user's own, in one that all may write to, as /tmp is."""
    top = tempfile.mkdtemp(prefix="kymo-strangers-")
    os.chmod(top, 0o1777)
    made = []
    for uid in (VICTIM, STRANGER):
        path = f"{top}/{uid}"
        os.mkdir(path, 0o755)
        os.chown(path, uid, uid)
        made.append(path)
    return top, *made


def tree(path):
    for folder, _, files in os.walk(path):
        yield folder
        for f in files:
            yield os.path.join(folder, f)


def drain_env(uid, socket_path, trace):
    p = run(uid, KYMO, "run", "--dry-run", "true")
    words = [line.removesuffix(" \\").replace("'", "") for line in p[1].splitlines()[:-1]]
    return {**dict(w.split("=", 1) for w in words), "KYMO_DRAIN": socket_path, "KYMO_TRACE": trace}


# ---- the socket

def listen_as(uid, path, folder_mode=0o755):
    """A stranger's drain: tells on its standard output whether it was given memory."""
    code = f"""
import array, os, socket, sys
os.umask(0)
os.makedirs(os.path.dirname({path!r}), mode=0o{folder_mode:o}, exist_ok=True)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind({path!r})
s.listen(5)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    msg, extra, _, _ = c.recvmsg(1024, socket.CMSG_SPACE(32))
    print("GOT" if extra else "nothing", flush=True)
"""
    p = as_user(uid, PYTHON, "-c", code)
    expect(p.stdout.readline() == "ready\n", "no stranger listens")
    return p


def end(p):
    p.kill()
    return p.communicate()[0]


def test_program_gives_its_memory_to_no_stranger():
    """A name that is there, however it looks, is not enough: who listens must be the user."""
    top, mine, theirs = folders()
    for n, mode in enumerate((0o755, 0o777, 0o711)):
        path = f"{theirs}/place{n}/drain"
        stranger = listen_as(STRANGER, path, mode)
        os.chmod(os.path.dirname(path), mode)
        env = drain_env(VICTIM, path, f"{mine}/alone{n}.kymo")
        status, out, err = run(VICTIM, VICTIM_PROGRAM, env=env, cwd=mine)
        said = end(stranger)
        expect(status == 5 and out.startswith("result"), "the program:", status, out, err)
        expect("GOT" not in said, "a stranger was given the program's memory, folder mode", oct(mode))
        own_drain_ended(f"{mine}/alone{n}.kymo")
    # The user's own folder, but the socket in it is a stranger's.
    path = f"{mine}/odd/drain"
    os.mkdir(f"{mine}/odd", 0o777)
    os.chmod(f"{mine}/odd", 0o777)
    stranger = listen_as(STRANGER, path)
    os.chown(f"{mine}/odd", VICTIM, VICTIM)
    for mode in (0o777, 0o755):
        os.chmod(f"{mine}/odd", mode)
        status, out, err = run(VICTIM, VICTIM_PROGRAM, env=drain_env(VICTIM, path, f"{mine}/odd{mode}.kymo"), cwd=mine)
        expect(status == 5, "the program:", status, out, err)
        own_drain_ended(f"{mine}/odd{mode}.kymo")
    os.chmod(f"{mine}/odd", 0o700)
    os.chmod(path, 0o777)
    status, out, err = run(VICTIM, VICTIM_PROGRAM, env=drain_env(VICTIM, path, f"{mine}/odd.kymo"), cwd=mine)
    expect(status == 5 and "GOT" not in end(stranger), "a stranger's socket in a folder of one's own was believed")
    own_drain_ended(f"{mine}/odd.kymo")
    kymotest.remove(top)


def test_root_gives_its_memory_to_no_user():
    top, mine, theirs = folders()
    path = f"{theirs}/place/drain"
    stranger = listen_as(STRANGER, path, 0o700)
    status, out, err = run(0, VICTIM_PROGRAM, env=drain_env(0, path, f"{top}/root.kymo"), cwd=top)
    expect(status == 5 and "GOT" not in end(stranger), "root's program believed a user's socket", out, err)
    own_drain_ended(f"{top}/root.kymo")
    kymotest.remove(top)


def test_name_that_was_freed():
    """The launcher's program has ended, a child goes on; its drain ends, a stranger takes the name."""
    top, mine, theirs = folders()
    ready = f"{mine}/go"
    script = f"(while [ ! -e {ready} ]; do sleep 0.05; done; {VICTIM_PROGRAM} > {mine}/out; echo $? > {mine}/status) > /dev/null 2>&1 & echo $KYMO_DRAIN"
    status, out, err = run(VICTIM, KYMO, "run", "--no-summary", "-o", f"{mine}/c.kymo", "sh", "-c", script + "; exit 0",
                           cwd=mine, env={"XDG_RUNTIME_DIR": ""})
    path = out.strip()
    expect(path.endswith("/drain"), out, err)
    wait_for(lambda: not os.path.exists(path), "the name stays")
    folder = os.path.dirname(path)
    wait_for(lambda: not os.path.exists(folder), "the folder stays")
    stranger = listen_as(STRANGER, path, 0o777)
    os.close(os.open(ready, os.O_CREAT))
    wait_for(lambda: os.path.exists(f"{mine}/status") and open(f"{mine}/status").read(), "the child has not ended")
    said = end(stranger)
    kymotest.remove(folder)
    expect(open(f"{mine}/status").read() == "5\n", "the child's status")
    expect("GOT" not in said, "the stranger who took the name was given memory")
    kymotest.remove(top)


def test_place_is_closed():
    """Folder and socket of a drain that runs; a stranger can neither connect nor steer."""
    top, mine, theirs = folders()
    p = as_user(VICTIM, KYMO, "run", "--no-summary", "-o", f"{mine}/t.kymo", "sh", "-c",
                f"echo $KYMO_DRAIN; {VICTIM_PROGRAM}; read x", cwd=mine, stdin=subprocess.PIPE)
    path = p.stdout.readline().strip()
    p.stdout.readline()
    st = os.lstat(os.path.dirname(path))
    expect(stat.S_IMODE(st.st_mode) == 0o700 and st.st_uid == VICTIM, "the folder:", oct(st.st_mode), st.st_uid)

    def connect():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(path)
        return True

    expect(not as_other(STRANGER, connect), "a stranger connected")
    for command in (["ctl", "pause", f"{mine}/t.kymo"], ["ctl", "pause", str(p.pid)]):
        status, out, err = run(STRANGER, KYMO, *command)
        expect(status == 3, command, "by a stranger:", status, out, err)
    # Even where modes let it in, the drain asks the kernel who it is.
    os.chmod(os.path.dirname(path), 0o777)
    os.chmod(path, 0o777)
    expect(as_other(STRANGER, connect), "the stranger could not connect, so nothing is tested")
    expect(as_other(STRANGER, lambda: steer(path) is None), "a stranger was answered")
    expect(as_other(STRANGER, lambda: hello(path) not in (0, None)), "a stranger's memory was taken")
    os.chmod(os.path.dirname(path), 0o700)
    for uid in (VICTIM, 0):
        status, out, err = run(uid, KYMO, "ctl", "flush", f"{mine}/t.kymo")
        expect(status == 0, "ctl by", uid, status, out, err)
    p.communicate("\n", timeout=PATIENCE)
    expect(p.returncode == 0, p.returncode)
    with open(f"{mine}/t.kymo/manifest.json", encoding="utf-8") as f:
        told = json.load(f)
    expect(any("another user" in e for e in told["errors"]), "the manifest does not tell:", told["errors"])
    kymotest.remove(top)


def steer(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(PATIENCE)
    s.connect(path)
    s.send(struct.pack("<QIIQ", 0x4c54434f4d594b31, 1, 2, 10**9)) # pause
    answer = s.recv(64)
    return answer if len(answer) == 32 else None


def hello(path):
    """Status that the drain answers to memory that is not in order, or None."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(PATIENCE)
    s.connect(path)
    fd = os.memfd_create("stranger")
    os.ftruncate(fd, 1 << 20)
    m = mmap.mmap(fd, 1 << 20)
    m[:8] = struct.pack("<Q", 0x314d48534f4d594b)
    s.sendmsg([struct.pack("<QIIQQ", 0x314d48534f4d594b, 3, os.getpid(), 1 << 20, 1)],
              [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    answer = s.recv(64)
    return struct.unpack("<QIi", answer)[2] if len(answer) == 16 else None


# ---- the trace

def complete(trace):
    try:
        with open(f"{trace}/manifest.json", encoding="utf-8") as f:
            return json.load(f).get("state") == "complete"
    except (OSError, ValueError):
        return False


def own_drain_ended(trace):
    """A program that trusts no drain starts one of its own, which outlives it and writes the manifest last."""
    wait_for(lambda: complete(trace), f"no complete {trace}")


def test_trace_is_its_owners_alone():
    top, mine, theirs = folders()
    for umask in (0o022, 0, 0o077):
        trace = f"{mine}/u{umask}.kymo"
        status, out, err = run(VICTIM, KYMO, "run", "--telemetry=100", "-o", trace, VICTIM_PROGRAM, cwd=mine, umask=umask)
        expect(status == 5, status, err)
        status, out, err = run(VICTIM, KYMO, "query", trace, "SELECT count(*) FROM process", umask=umask)
        expect(status == 0, err)
        names = list(tree(trace))
        expect(any(n.endswith("store.db") for n in names) and any(n.endswith(".kyr") for n in names), names)
        for name in names:
            st = os.lstat(name)
            expect(stat.S_IMODE(st.st_mode) & 0o077 == 0, name, oct(st.st_mode), "with umask", oct(umask))
        status, out, err = run(STRANGER, KYMO, "summary", trace)
        expect(status != 0 and "result" not in out, "a stranger read", trace, out)
    # What is exported is ordinary output.
    status, out, err = run(VICTIM, KYMO, "export", "--to", "json", "-o", f"{mine}/x.json", trace, umask=0o022)
    expect(status == 0 and stat.S_IMODE(os.stat(f"{mine}/x.json").st_mode) == 0o644, err)
    # Kymo preloaded by hand makes its traces itself.
    env = drain_env(VICTIM, "", f"{mine}/hand.kymo")
    status, out, err = run(VICTIM, VICTIM_PROGRAM, env=env, cwd=mine, umask=0)
    expect(status == 5, err)
    wait_for(lambda: complete(f"{mine}/hand.kymo"), "trace made by hand")
    for name in tree(f"{mine}/hand.kymo"):
        expect(stat.S_IMODE(os.lstat(name).st_mode) & 0o077 == 0, name)
    kymotest.remove(top)


def stranger_makes(top, name, raw_is_link, theirs):
    """A trace that looks like that of the victim's job."""
    path = f"{top}/{name}"
    os.makedirs(f"{theirs}/catch", exist_ok=True)
    os.chmod(f"{theirs}/catch", 0o777)

    def make():
        os.umask(0)
        os.mkdir(path, 0o777)
        if raw_is_link:
            os.symlink(f"{theirs}/catch", f"{path}/raw")
        else:
            os.mkdir(f"{path}/raw", 0o777)
        with open(f"{path}/manifest.json", "w", encoding="utf-8") as f:
            f.write('{\n  "format": "kymo trace",\n  "version": 1,\n  "job": {"id": "J77"},\n  "state": "complete"\n}\n')
        return True

    expect(as_other(STRANGER, make), "the stranger could not make", path)
    return path


def test_job_joins_no_strangers_trace():
    top, mine, theirs = folders()
    for link in (True, False):
        name = f"j{link}.kymo"
        stranger_makes(top, name, link, theirs)
        for uid in (VICTIM, 0):
            status, out, err = run(uid, KYMO, "run", "-o", f"{top}/{name}", VICTIM_PROGRAM, cwd=top, env={"KYMO_JOB": "J77"})
            expect(status == 3 and "not made by this user" in err, uid, "joined:", status, err)
        got = [n for n in tree(f"{top}/{name}") if os.path.isfile(n) and not n.endswith("manifest.json")]
        got += [n for n in tree(f"{theirs}/catch") if os.path.isfile(n)]
        expect(not got, "the stranger received", got)
    # Where nobody asked for the name, another one is found.
    taken = stranger_makes(top, f"{os.path.basename(VICTIM_PROGRAM)}-J77.kymo", True, theirs)
    status, out, err = run(VICTIM, KYMO, "run", VICTIM_PROGRAM, cwd=top, env={"KYMO_JOB": "J77"})
    expect(status == 5 and not os.listdir(f"{theirs}/catch") and len(os.listdir(taken)) == 2, status, err)
    expect(os.path.isdir(taken.replace("J77", "J77-2")), os.listdir(top))
    # One's own folder with a link in place of raw.
    status, out, err = run(VICTIM, KYMO, "run", "--no-summary", "-o", f"{mine}/own.kymo", VICTIM_PROGRAM, cwd=mine, env={"KYMO_JOB": "J77"})
    expect(status == 5, err)
    kymotest.remove(f"{mine}/own.kymo/raw")
    os.symlink(f"{theirs}/catch", f"{mine}/own.kymo/raw")
    status, out, err = run(VICTIM, KYMO, "run", "-o", f"{mine}/own.kymo", VICTIM_PROGRAM, cwd=mine, env={"KYMO_JOB": "J77"})
    expect(status == 3 and not os.listdir(f"{theirs}/catch"), "a link was followed:", status, err)
    kymotest.remove(top)


def test_trace_changed_under_way():
    """The folder above is a stranger's: it puts its own in place of the trace while that is recorded."""
    top, mine, theirs = folders()
    os.chmod(theirs, 0o777)
    os.makedirs(f"{theirs}/catch/raw")
    for path in (f"{theirs}/catch", f"{theirs}/catch/raw"):
        os.chown(path, STRANGER, STRANGER)
        os.chmod(path, 0o777)
    p = as_user(VICTIM, KYMO, "run", "--no-summary", "-o", f"{theirs}/t.kymo", "sh", "-c",
                f"echo; read x; {VICTIM_PROGRAM}", cwd=theirs, stdin=subprocess.PIPE)
    p.stdout.readline()
    expect(as_other(STRANGER, lambda: os.rename(f"{theirs}/t.kymo", f"{theirs}/away") is None
                    and os.symlink(f"{theirs}/catch", f"{theirs}/t.kymo") is None), "cannot be moved")
    out, err = p.communicate("\n", timeout=PATIENCE)
    expect(p.returncode == 5 and "result" in out, "the program:", p.returncode, out, err)
    expect(not os.listdir(f"{theirs}/catch/raw"), "the stranger received", os.listdir(f"{theirs}/catch/raw"))
    expect("1 process could not be recorded and is lost: Operation not permitted" in err, "not told:", err)
    kymotest.remove(top)


def test_names_that_can_be_foreseen():
    """Kymo preloaded by hand, as root in a folder for everybody: the name is taken, whatever it is."""
    top, mine, theirs = folders()
    env = drain_env(0, "", "")
    code = f"import os, time; os.utime; p = os.getpid(); os.execv({VICTIM_PROGRAM!r}, ['{os.path.basename(VICTIM_PROGRAM)}'])"
    p = subprocess.Popen([sys.executable, "-c", "import os, sys; sys.stdin.readline(); " + code], cwd=top, env={**os.environ, **env},
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    now, taken = time.time(), []
    base = os.path.basename(VICTIM_PROGRAM)
    for second in range(-1, PATIENCE): # of the names that it can get
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now + second))
        taken.append(stranger_makes(top, f"{base}-{stamp}-{p.pid}.kymo", False, theirs))
    out = p.communicate("\n", timeout=PATIENCE)[0]
    expect(p.returncode == 5, p.returncode, out)
    mine_now = wait_for(lambda: [t for t in glob.glob(f"{top}/*.kymo") if t not in taken and complete(t)], "root's own trace")
    expect(os.lstat(mine_now[0]).st_uid == 0, mine_now)
    for path in taken:
        expect(sorted(os.listdir(path)) == ["manifest.json", "raw"] and not os.listdir(path + "/raw"), path, "was used")
    kymotest.remove(top)


def test_root_reads_a_users_trace():
    """It leaves no files of its own in the user's folder, and follows no link there."""
    top, mine, theirs = folders()
    status, out, err = run(VICTIM, KYMO, "run", "--no-summary", "-o", f"{mine}/t.kymo", VICTIM_PROGRAM, cwd=mine)
    expect(status == 5, err)
    status, out, err = run(0, KYMO, "query", f"{mine}/t.kymo", "SELECT count(*) AS n FROM process", cwd=top)
    expect(status == 0 and "1" in out and "another user" in err, status, out, err)
    for name in tree(f"{mine}/t.kymo"):
        expect(os.lstat(name).st_uid == VICTIM, name, "belongs to", os.lstat(name).st_uid)
    kymotest.remove(top)


def main():
    if os.geteuid() != 0:
        print("skipped: needs root, to be two users")
        return 77
    reachable = [KYMO, VICTIM_PROGRAM, PYTHON]
    if not as_other(STRANGER, lambda: all(os.access(p, os.X_OK) for p in reachable)):
        print("skipped: other users cannot enter the folders of", *reachable)
        return 77
    bad = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        if len(sys.argv) > 4 and sys.argv[4] not in name:
            continue
        try:
            fn()
            print("ok  ", name, flush=True)
        except (Failure, subprocess.TimeoutExpired) as e:
            bad += 1
            print("FAIL", name + ":", e, flush=True)
    return 1 if bad else 0


sys.exit(main())
