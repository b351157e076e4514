#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names are whatever somebody chose: no command lets them steer a terminal, fake a line, run as a
formula of a spreadsheet or become a tag of a page.

    test_names.py KYMO SYNTH PROGRAM PERFETTO_CHECK what

Every string is once the name of a device, queue, kernel, thread, operation, argument, status, host
and program (a synthetic trace), and of a mark, range, payload, thread, process, program file and
trace (a recorded one); all commands and formats that show names are run on both."""
import csv
import html.parser
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, SYNTH, PROGRAM, CHECKER, WHAT = sys.argv[1:6]
spec = importlib.util.spec_from_file_location("perfetto_check", CHECKER)
perfetto = importlib.util.module_from_spec(spec)
spec.loader.exec_module(perfetto)

HOSTILE = [s if isinstance(s, bytes) else s.encode() for s in (
    "\x1b]0;owned\x07", "\x1b[2J\x1b[1;1Hgone", "r\x1b[31med\x1b[0m", "ring\x07", "all\b\b\bok",
    "a\rb", "a\nFAKE LINE: Lost: nothing.", "a\r\nFAKE LINE", "v\vf\fx", "del\x7f", "tab\there",
    "csi \u009b31m", b"csi \x9b31m", "nel\u0085FAKE LINE", "ls\u2028FAKE LINE", "ps\u2029x",
    "\u202egnp.exe", "\u2066x\u2067y\u2068z\u2069", "\u200flrm\u200e\u061c", "\ufeffbom\u200b",
    "tag\U000e0041\U000e007f", b"bad \xff\xfe", b"overlong \xc0\xaf", b"half \xed\xa0\x80",
    b"cut \xe2\x82", b"high \xf4\x90\x80\x80", "=cmd|' /C calc'!A0", "+1+1,\"x\"", "-2+3;=1",
    "@SUM(A1:A9)", " =1+1", "\uff1d1+1", "\t=1", "'=1+1", "<script>alert(1)</script>",
    "</td><img src=x onerror=alert(1)>", "[x](javascript:1) ![y](http://z/)", "a | b `c` **d** _e_",
    "'); DROP TABLE string;--", "%s%n%d \\x1b")]
assert len(HOSTILE) % 2 == 0 and len(HOSTILE) >= 30

HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f"
                    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
failures = []
asked = 0


def fail(what, detail):
    failures.append(what)
    if len(failures) <= 20:
        print("FAILED: %s: %s" % (what, detail))


def clean(what, data, ends="\n"):
    """Text, and nothing but it; returns it. `ends`: what may end a line."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        fail(what, "not UTF-8: %s" % e)
        return data.decode("utf-8", "replace")
    hit = HIDDEN.search(text)
    if hit or "\t" in text or "\r" in text.replace(ends, ""):
        at = hit.start() if hit else 0
        fail(what, "a character that must not be seen: %r" % text[max(0, at - 40):at + 40])
    for line in text.split(ends):
        if line.startswith("FAKE LINE"):
            fail(what, "a line of the name's own")
    return text


def clean_csv(what, data):
    for row in csv.reader(io.StringIO(clean(what, data, "\r\n"), newline="")):
        for cell in row:
            bare = cell.lstrip(" \u3000\xa0")
            if bare[:1] and bare[:1] in "=+-@\uff1d\uff0b\uff0d\uff20" and \
               not NUMBER.fullmatch(cell):
                fail(what, "a formula: %r" % cell)


def clean_tsv(what, data):
    rows = [line.split("\t") for line in clean(what, data.replace(b"\t", b"\n").replace(b"\r", b"<CR>")).split("\n")]
    for cell in (c for row in rows for c in row):
        if cell.lstrip(" ")[:1] in tuple("=+-@") and cell and not NUMBER.fullmatch(cell):
            fail(what, "a formula: %r" % cell)
    widths = {line.count(b"\t") for line in data.rstrip(b"\n").split(b"\n")}
    if len(widths) != 1:
        fail(what, "rows of several widths: %r" % widths)


class Page(html.parser.HTMLParser):
    """Only elements of Kymo's own are in it, none with what could be executed or fetched."""
    ALLOWED = {"html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content"}, "title": set(), "style": set(),
               "body": set(), "pre": set(), "p": set(), "h2": set(), "table": set(), "thead": set(), "tbody": set(), "tr": set(),
               "th": {"class"}, "td": {"class"}}

    def __init__(self, what):
        super().__init__()
        self.what, self.open, self.cells, self.text = what, [], 0, ""

    def handle_starttag(self, tag, attrs):
        if tag not in self.ALLOWED or {n for n, _ in attrs} - self.ALLOWED[tag]:
            fail(self.what, "an element of the name's own: %s %r" % (tag, attrs))
        if tag != "meta":
            self.open.append(tag)
        self.cells += tag in ("td", "th")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            fail(self.what, "</%s> closes nothing" % tag)

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        fail(self.what, "a comment: %r" % data)


def clean_html(what, data):
    page = Page(what)
    page.feed(clean(what, data))
    page.close()
    if page.open or not page.cells:
        fail(what, "the page is not whole: %r, %u cells" % (page.open, page.cells))
    return page.text


def clean_json(what, data):
    try:
        return json.loads(clean(what, data))
    except ValueError as e:
        fail(what, "no JSON: %s" % e)


def clean_markdown(what, data):
    text = clean(what, data)
    for bad in ("<", ">", "](", "**d", "!["):
        if bad in re.sub(r"\\.", "", text):
            fail(what, "%s in Markdown: %s" % (bad, text[:300]))
    widths = {}
    for i, line in enumerate(text.split("\n")):
        if line.startswith("|"):
            widths[i] = len(re.sub(r"\\.", "", line).split("|"))
            if widths.get(i - 1, widths[i]) != widths[i]:
                fail(what, "a row of another width: %s" % line)


# The strings of the format: field numbers from a packet on; [] is the text itself.
STRINGS = {11: {22: [], 23: [], 4: {10: [], 6: [], 12: {6: []}}, 55: {1: {1: [], 2: []}}},
           12: {1: {2: []}, 2: {2: []}, 3: {2: []}, 4: {2: [], 3: []}, 29: {2: []}},
           60: {2: [], 3: {2: [], 6: [], 8: []}, 4: {5: []}, 8: {6: []}}}


def strings(message, shape):
    for number, value in perfetto.fields(message):
        inner = shape.get(number)
        if inner == []:
            yield value
        elif inner:
            yield from strings(value, inner)


def clean_perfetto(what, data):
    found = [clean(what, s) for s in strings(data, {1: STRINGS})]
    if len(found) < 10 or any("\n" in s for s in found):
        fail(what, "strings: %r" % found[:20])


def kymo(*words, status=None, **how):
    global asked
    asked += 1
    got = subprocess.run([KYMO.encode(), *[w if isinstance(w, bytes) else w.encode()
                                           for w in words]],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **how)
    what = "kymo %s" % " ".join(repr(w) if isinstance(w, bytes) else w for w in words)
    clean("messages of " + what, got.stderr)
    if got.returncode < 0 or (status is not None and got.returncode != status):
        fail(what, "status %d: %r" % (got.returncode, got.stderr[:300]))
    return what, got.stdout


STRINGS_OF_ALL = ("SELECT text FROM string UNION SELECT text FROM marker_name UNION "
                  "SELECT name FROM agent UNION SELECT hostname || exe || argv FROM process")
QUESTIONS = ("SELECT * FROM kernels", "SELECT * FROM markers", "SELECT * FROM region_args")
FORMATS = ((clean,), (clean_markdown, "-f", "md"), (clean_csv, "-f", "csv"), (clean_tsv, "-f", "tsv"), (clean_html, "-f", "html"),
           (clean_json, "-f", "json"))


def names_everywhere(folder, trace, turn):
    text = lambda *words: clean(*kymo(*words, trace, status=0))
    text("summary")
    text("summary", "--by", "process,thread,op")
    text("summary", "--by", "node,device,queue,op")
    text("summary", "--by", "trace,scope,op")
    clean_markdown(*kymo("summary", "-f", "md", trace, status=0))
    clean_csv(*kymo("summary", "-f", "csv", trace, status=0))
    clean_tsv(*kymo("summary", "-f", "tsv", trace, status=0))
    clean_html(*kymo("summary", "-f", "html", trace, status=0))
    clean_json(*kymo("summary", "-f", "json", trace, status=0))
    text("info")
    text("show")
    text("show", "--entry-exit")
    text("show", "--order", "recorded")
    # Each string in each format of all strings at once; what else is asked is told in one format each time, by turns.
    query = lambda check, sql, *words: check(*kymo("query", *words, trace, sql, status=0))
    for check, *words in FORMATS:
        query(check, STRINGS_OF_ALL, *words)
    for n, sql in enumerate(QUESTIONS):
        check, *words = FORMATS[(turn + n) % len(FORMATS)]
        query(check, sql, *words)
    out = os.path.join(folder, "csv")
    kymo("export", "--force", "--to", "csv", "-o", out, trace, status=0)
    for name in os.listdir(out):
        with open(os.path.join(out, name), "rb") as f:
            clean_csv("%s of %r" % (name, trace), f.read())
    clean_json(*kymo("export", "--to", "json", "-o", "-", trace, status=0))
    clean(*kymo("export", "--to", "text", "-o", "-", trace, status=0))
    clean_perfetto(*kymo("export", "--to", "perfetto", "-o", "-", trace, status=0))


def traces(folder):
    for i in range(0, len(HOSTILE), 2):
        first, second = HOSTILE[i:i + 2]
        base = os.path.join(folder, str(i)).encode()
        os.mkdir(base)
        file_name = first.replace(b"/", b"_")
        trace = base + b"/" + file_name
        subprocess.run([SYNTH, "names", trace, first, second], check=True)
        names_everywhere(folder, trace, i // 2)
        program = base + b"/p" + second.replace(b"/", b"_")
        shutil.copy(PROGRAM, program)
        what, out = kymo("run", "-o", trace + b".kymo", program, first, second, status=0)
        clean(what, out)
        names_everywhere(folder, trace + b".kymo", i // 2 + 1)
        kymotest.remove(base)


def messages(folder):
    """What is wrong is named, whatever its name is."""
    trace = os.path.join(folder, "demo.kymo")
    subprocess.run([SYNTH, "demo", trace], check=True)
    for name in HOSTILE:
        path = os.path.join(folder.encode(), name.replace(b"/", b"_"))
        with open(path, "wb") as f:
            f.write(b"no trace\n")
        for command in ("summary", "info", "show", "export", "query", "ctl", "list", "help"):
            words = [b"flush", path] if command == "ctl" else [path]
            clean(*kymo(command, *words, *(["SELECT 1"] if command == "query" else [])))
        for words in (["summary", "--by", name], ["summary", "--format", name],
                      ["show", "--include", name, trace], ["show", "--domain", name, trace],
                      ["show", "--kernel", b"(" + name, trace], ["show", b"--" + name],
                      ["export", "--to", name, trace], ["export", "-o", path, trace],
                      ["query", trace, name], ["query", trace, b"SELECT 1 AS \"" + name + b"\""],
                      ["query", trace, b"SELECT '" + name.replace(b"'", b"") + b"' FROM nowhere"],
                      ["list", "devices", name], ["run", "--mode", name, "true"],
                      ["run", "-o", path, "true"], ["run", path], ["run", "--dry-run", "echo", name],
                      ["run", "--backends", name, "true"], ["run", "--config", path, "true"],
                      ["run", "--tool", path, "true"], [name]):
            what, out = kymo(*words)
            clean(what, out)
        what, out = kymo("doctor", env=dict(os.environb, OCL_ICD_VENDORS=path, KYMO_CONFIG=path))
        clean(what, out)
        os.remove(path)
        subprocess.run(["rm", "-rf", path + b".kymo"], check=False)
    what, out = kymo("run", "--dry-run", "echo", HOSTILE[0] + b"'\\")
    words = subprocess.run(["bash", "-c", "printf %s " + out.decode().rsplit("echo ", 1)[1]],
                           stdout=subprocess.PIPE, check=True).stdout
    if words != HOSTILE[0] + b"'\\":
        fail(what, "the shell reads %r" % words)


def kept(folder):
    """Names that hurt nobody are shown as they are, in columns that line up."""
    good = "größe 日本語 e\u0301 👩\u200d💻 (a_b) -1".encode(), b"plain"
    trace = os.path.join(folder, "good.kymo").encode()
    subprocess.run([SYNTH, "names", trace, *good], check=True)
    name = good[0].decode()
    for words in (["summary"], ["info"], ["show"], ["summary", "-f", "csv"], ["export", "--to",
                  "json", "-o", "-"], ["query", "-f", "csv"]):
        sql = ["SELECT DISTINCT name FROM kernels"] if words[0] == "query" else []
        what, out = kymo(*words, trace, *sql, status=0)
        if name not in out.decode():
            fail(what, "%s is not in it: %s" % (name, out.decode()))
    # "日本語" and "abcdef" take six columns each, so a table of them has one width.
    wide = os.path.join(folder, "wide.kymo").encode()
    subprocess.run([SYNTH, "names", wide, "日本語".encode(), b"abcdef"], check=True)
    what, out = kymo("query", wide, "SELECT name, 'x' AS mark FROM kernels ORDER BY 1 DESC",
                     status=0)
    lines = [l for l in out.decode().split("\n") if l.endswith("x")]
    if sorted(lines) != ["abcdef  x", "日本語  x"]:
        fail(what, "columns: %r" % lines)
    what, out = kymo("query", "-f", "csv", wide, "SELECT -5, '-5', '-5x', -1.5e-9, '+', 'a;b'",
                     status=0)
    if out.split(b"\r\n")[1] != b"-5,-5,'-5x,-1.5e-09,'+,\"a;b\"":
        fail(what, out)


with kymotest.Folder() as scratch:
    {"traces": traces, "messages": messages, "kept": kept}[WHAT](scratch)
print("%d commands, %d failures" % (asked, len(failures)))
sys.exit(1 if failures or not asked else 0)
