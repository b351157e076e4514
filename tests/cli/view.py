#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `kymo view` answers, and whom: the page's data are those of the report; without the token, for another host, by
another method nothing is told; what it has prepared is used again until the trace changes.

    view.py KYMO SYNTH HOLD_OPEN"""
import concurrent.futures
import ctypes
import gzip
import http.client
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kymotest  # noqa: E402
import page_file  # noqa: E402
from kymotest import expect, must, run  # noqa: E402

KYMO, SYNTH = (os.path.abspath(p) for p in sys.argv[1:3])
checks = kymotest.Checks()


class View:
    def __init__(self, trace, *options, **more):
        self.process = subprocess.Popen([KYMO, "view", *options, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        address = self.process.stdout.readline().strip()
        expect(address, "no address:", self.process.stderr.read() if not address else "")
        self.url = urllib.parse.urlsplit(address)
        self.token = urllib.parse.parse_qs(self.url.query)["token"][0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(kymotest.WAIT)

    def prepared(self):
        """Waits until all of the trace is there."""
        expect(self.ask("/head.json")[0] == 200, "the head")
        return self

    def ask(self, path, token=None, method="GET", host=None, body=None):
        """(status, headers, body)"""
        c = http.client.HTTPConnection("127.0.0.1", self.url.port, timeout=60)
        token = self.token if token is None else token
        sign = "&" if "?" in path else "?"
        c.putrequest(method, path + (f"{sign}token={token}" if token else ""), skip_host=True)
        c.putheader("Host", host or f"127.0.0.1:{self.url.port}")
        c.putheader("Content-Length", str(len(body or b"")))
        c.endheaders(body)
        r = c.getresponse()
        out = (r.status, {k.lower(): v for k, v in r.getheaders()}, r.read())
        c.close()
        return out


def check_data(view, page):
    status, headers, body = view.ask("/head.json")
    checks.equal("head", (status, headers["content-type"]), (200, "application/json"))
    head = json.loads(body)
    for member in ("rows", "tracks", "ops", "names", "tables", "length", "digest", "levels"):
        mine, theirs = head[member], page.head[member]
        if member in ("rows", "levels"):  # sections have other numbers
            mine, theirs = len(mine), len(theirs)
        checks.equal(f"head: {member}", mine, theirs)
    numbered = 0
    for i, row in enumerate(head["rows"]):
        for (start, end, count, busy, section, first), theirs in zip(row["blocks"], page.head["rows"][i]["blocks"]):
            checks.equal(f"row {i}", [start, end, count, busy, first], theirs[:4] + theirs[5:])
            status, headers, packed = view.ask(f"/section/{section}")
            checks.equal(f"section {section}", (status, headers["content-type"]), (200, "application/octet-stream"))
            page.unpacked = {section: gzip.decompress(packed)}
            ours = page.columns(section)[1]
            page.unpacked = {}
            other = page.columns(theirs[4])[1]
            checks.equal(f"section {section}: slices", [ours[k] for k in (1, 2, 3, 4, 5, 7, 9)],
                         [other[k] for k in (1, 2, 3, 4, 5, 7, 9)])
            numbered += sum(map(bool, ours[6]))
    expect(numbered, "no ids")


def check_answers(view):
    status, headers, body = view.ask("/")
    checks.equal("page", (status, headers["content-type"]), (200, "text/html; charset=utf-8"))
    text = body.decode()
    elements = page_file.Elements()
    elements.feed(text)
    for tag, _, inner in elements.raw:
        checks.equal(f"hash of {tag}", f"'{page_file.sha(inner)}'" in headers["content-security-policy"], True)
    checks.equal("policy", ("unsafe" in headers["content-security-policy"], "frame-ancestors 'none'" in headers["content-security-policy"],
                            "connect-src 'self'" in headers["content-security-policy"]), (False, True, True))
    for path in ("/", "/head.json", "/section/0", "/record?process=1", "/state", "/glance?end=1000"):
        status, headers, _ = view.ask(path)
        checks.equal(f"{path}: headers", (headers["cache-control"], headers["x-content-type-options"], "content-security-policy" in headers,
                                          [k for k in headers if k.startswith("access-control")]), ("no-store", "nosniff", True, []))
        for what, asked, wanted in (
                ("no token", {"token": ""}, 403), ("another token", {"token": "0" * 32}, 403), ("half a token", {"token": view.token[:16]}, 403),
                ("another host", {"host": "evil.example"}, 403), ("another port", {"host": "127.0.0.1:1"}, 403),
                ("localhost", {"host": f"localhost:{view.url.port}"}, 200),
                ("POST", {"method": "POST", "body": b"x"}, 405), ("PUT", {"method": "PUT", "body": b"x"}, 405),
                ("DELETE", {"method": "DELETE"}, 405), ("OPTIONS", {"method": "OPTIONS"}, 405)):
            status, headers, body = view.ask(path, **asked)
            checks.equal(f"{path}: {what}", status, wanted)
            if wanted != 200:
                checks.equal(f"{path}: {what} tells nothing", (view.token in body.decode("latin-1"), len(body) < 100), (False, True))
    for path in ("/section/999999", "/section/-1", "/section/", "/section/0x1", "/section/00000000000000000000001e", "/etc/passwd", "/../../etc/passwd",
                 "/section/18446744073709551616", "//head.json"):
        checks.equal(path, view.ask(path)[0], 404)


    for path in ("/glance?start=x", "/glance?effort=2", "/glance?end=-1", "/glance?end=9223372036854775808"):
        checks.equal(path, view.ask(path)[0], 400)
    for path in ("/record?process=x", "/record?process=-1", "/record?start=9223372036854775808", "/record?work=2", "/record?id=18446744073709551616", "/record?process=4294967296"):
        checks.equal(path, view.ask(path)[0], 400)
    for path in ("/record", "/record?process=4294967295&start=1", "/record?process=1&start=9223372036854775807&end=9223372036854775807&thread=4294967295&queue=4294967295",
                 "/record?process=1&start=5&end=1&work=1&id=18446744073709551615"):
        status, _, body = view.ask(path)
        checks.equal(path, (status, json.loads(body)), (200, {"records": [], "related": [], "whole": True}))


def bound_to(port):
    """Addresses that the port is open on, as the kernel has them."""
    found = []
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(name):
            with open(name, encoding="ascii") as f:
                rows = [line.split() for line in f.readlines()[1:]]
            found += [r[1].split(":")[0] for r in rows if r[3] == "0A" and int(r[1].split(":")[1], 16) == port]
    return found


def check_strangers(view):
    """Another user is turned away before anything is read, with the token as well."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return
    ask = ("import http.client, sys; c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=60); "
           "c.request('GET', '/?token=' + sys.argv[2]); print(c.getresponse().status)")
    for uid, wanted in (("0", "200"), ("65534", "")):
        done = run("setpriv", "--reuid", uid, "--clear-groups", "/usr/bin/python3", "-c", ask, view.url.port, view.token)
        checks.equal(f"asked by user {uid}", done.stdout.strip(), wanted)


def check_held(folder, trace):
    """While a record is looked for, and another waits for its turn, everything else is answered."""
    pipes = os.path.join(folder, "hold")
    with View(trace, env={**os.environ, "LD_PRELOAD": os.path.abspath(sys.argv[3]), "HOLD_OPEN": pipes}) as view:
        for end in ("held", "go"):
            os.mkfifo(f"{pipes}.{end}")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            records = [pool.submit(view.ask, "/record?process=4294967295") for _ in range(2)]
            with open(f"{pipes}.held", "rb"):
                pass
            try:
                for path in ("/", "/head.json", "/section/0"):
                    checks.equal(f"{path}, while a record is looked for", view.ask(path)[0], 200)
                checks.equal("no record is told yet", [r.done() for r in records], [False, False])
            finally:
                with open(f"{pipes}.go", "wb"):
                    pass
            checks.equal("then both are", [r.result()[0] for r in records], [200, 200])
        checks.equal("ends when it is asked to", view.end(), 0)


def names_of(view):
    return json.loads(view.ask("/head.json")[2])["names"]


def check_places(folder, trace, kept):
    """Temporary files may lie in a folder of somebody else, as /tmp is; nothing is left there, nor put into others' traces."""
    temporary = os.path.join(folder, "temporary")
    os.mkdir(temporary)
    os.chmod(temporary, 0o1777)
    if os.geteuid() == 0:  # else /tmp is another's
        os.chown(temporary, 65534, 65534)
    there = {} if os.geteuid() else {"env": {**os.environ, "TMPDIR": temporary}}
    first = os.stat(kept).st_ino
    with View(trace, "-i", "test:launch", **there) as part:
        checks.equal("a selection, temporary files in another's folder", part.ask("/head.json")[0], 200)
        checks.equal("they are gone while it is served", os.listdir(temporary), [])
    checks.equal("of a selection nothing is kept", os.stat(kept).st_ino, first)
    if os.geteuid() == 0:
        os.unlink(kept)
        os.chown(trace, 65534, 65534)
        with View(trace, **there) as other:
            checks.equal("another's trace", other.ask("/head.json")[0], 200)
            checks.equal("nothing is put into it", os.path.exists(kept), False)
        os.chown(trace, 0, 0)


def made_in(folder):
    """Told when something is made in the folder: a descriptor of inotify."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC)
    expect(fd >= 0 and libc.inotify_add_watch(fd, folder.encode(), 0x100) >= 0, "inotify:", os.strerror(ctypes.get_errno()))  # IN_CREATE
    return fd


def check_ended(folder):
    """A signal while the data is written leaves nothing. It comes when the file has just been made, and there is much to
    write; should it come late all the same, nothing is left either."""
    trace = os.path.join(folder, "long.kymo")
    with open(os.path.join(folder, "long.json"), "w", encoding="ascii") as f:
        draw = random.Random(5)
        json.dump([{"name": f"n{draw.random()}" * 3, "ph": "X", "pid": 1, "tid": 1, "ts": i * 9, "dur": draw.random() * 8} for i in range(60000)], f)
    must(KYMO, "import", "-o", trace, os.path.join(folder, "long.json"))
    before = sorted(os.listdir(trace))
    for how in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        fd = made_in(trace)
        view = subprocess.Popen([KYMO, "view", "--rebuild", trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = b""
        while b"page.data." not in seen:
            expect(select.select([fd], [], [], kymotest.WAIT)[0], "nothing was made in the trace")
            seen += os.read(fd, 65536)
        view.send_signal(how)
        view.wait(kymotest.WAIT)
        os.close(fd)
        checks.equal(f"{how.name} leaves", sorted(set(os.listdir(trace)) - {"page.data"}), before)


def check_mangled(folder):
    trace = os.path.join(folder, "names.kymo")
    with open(os.path.join(folder, "names.json"), "w", encoding="ascii") as f:
        json.dump([{"name": "_Z3addPfi", "cat": "kernel", "ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"device": 0, "stream": 7}}], f)
    must(KYMO, "import", "-o", trace, os.path.join(folder, "names.json"))
    for what, options, wanted in (("plain", (), "add(float*, int)"), ("as the linker has them", ("--mangled",), "_Z3addPfi"),
                                  ("plain again", (), "add(float*, int)")):
        with View(trace, *options) as view:
            checks.equal(f"names: {what}", [n for n in names_of(view) if "add" in n], [wanted])


def main():
    with kymotest.Folder() as folder:
        trace = os.path.join(folder, "demo.kymo")
        must(SYNTH, "demo", trace)
        must(KYMO, "report", trace)
        page = page_file.Page(os.path.join(folder, "demo.html"))
        kept = os.path.join(trace, "page.data")
        with View(trace) as view:
            checks.equal("where it listens", bound_to(view.url.port), ["0100007F"])
            check_data(view, page)
            check_answers(view)
            check_strangers(view)
            checks.equal("readable for the user alone", os.stat(kept).st_mode & 0o77, 0)
            first = os.stat(kept).st_ino
            other = run(KYMO, "view", "--port", view.url.port, trace)
            checks.equal("a port that is taken", (other.returncode, str(view.url.port) in other.stderr), (3, True))
            checks.equal("ends when it is asked to", view.end(), 0)
        with View(trace) as again:
            checks.equal("another token", again.token != view.token, True)
            checks.equal("what is kept is used", os.stat(kept).st_ino, first)
            checks.equal("SIGTERM", again.end(signal.SIGTERM), 0)
        with open(kept, "r+b") as f:
            f.truncate(os.path.getsize(kept) - 1)
        with View(trace) as again:
            again.prepared()
            checks.equal("a damaged one is made anew", os.stat(kept).st_ino != first, True)
            check_data(again, page_file.Page(os.path.join(folder, "demo.html")))
        first = os.stat(kept).st_ino
        raw = os.path.join(trace, "raw", os.listdir(os.path.join(trace, "raw"))[0])
        os.utime(raw)
        with View(trace) as again:
            again.prepared()
            checks.equal("one of an older trace is made anew", os.stat(kept).st_ino != first, True)
        first = os.stat(kept).st_ino
        with View(trace, "-i", "test:launch") as part:
            head = json.loads(part.ask("/head.json")[2])
            checks.equal("a selection", {head["names"][o["name"]] for o in head["ops"] if o["kind"] == "call"}, {"launch"})
            checks.equal("it is not kept", os.stat(kept).st_ino, first)
        check_places(folder, trace, kept)
        with View(trace) as again:
            again.prepared()
        check_held(folder, trace)
        check_mangled(folder)
        check_ended(folder)
        with open("/dev/full", "w", encoding="ascii") as device:
            full = subprocess.run([KYMO, "view", trace], stdout=device, stderr=subprocess.PIPE, text=True, timeout=kymotest.WAIT, check=False)
        checks.equal("nobody can be told the address", (full.returncode, "No space" in full.stderr), (3, True))
        checks.equal("no trace", run(KYMO, "view").returncode, 2)
        checks.equal("none there", run(KYMO, "view", os.path.join(folder, "none.kymo")).returncode, 3)
        checks.equal("nothing else is left", sorted(os.listdir(trace)), sorted({"raw", "page.data"} | set(os.listdir(trace)) & {"manifest.json", "store.db"}))
    return checks.status(100)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except kymotest.Failure as e:
        print(e)
        sys.exit(1)
