#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a Perfetto trace the way trace_processor does and checks it.

    perfetto_check.py FILE [--expect NAME=VALUE ...]

Independent of the writer and of protobuf libraries: walks the wire format itself, follows each
sequence's interned strings and running clock, sorts events by time (equal times keep file order),
matches slice begins and ends per track, joins flows and follows counters. Prints one JSON object:
counts by track and kind. Exit status 1 when the file breaks a rule or an expectation.
Expectations are dotted paths into that object, e.g. totals.slices=12.
"""
import json
import mmap
import struct
import sys

CLEARED, NEEDED = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
RAW = 5
# Interned: frames, stacks, mappings; build ids, which are no text.
FRAME, CALLSTACK, MAPPING, BUILD_ID = 6, 7, 19, 16
RAW_KINDS = (FRAME, CALLSTACK, MAPPING, BUILD_ID)


class Broken(Exception):
    pass


def varint(b, i):
    r = s = 0
    while True:
        c = b[i]
        i += 1
        r |= (c & 0x7F) << s
        if c < 0x80:
            return r, i
        s += 7
        if s > 63:
            raise Broken("varint too long")


def fields(b):
    """Yields (number, value): int for numbers, bytes for the rest."""
    i, n = 0, len(b)
    while i < n:
        tag, i = varint(b, i)
        kind = tag & 7
        if kind == 0:
            v, i = varint(b, i)
        elif kind == 1:
            v, i = int.from_bytes(b[i:i + 8], "little"), i + 8
        elif kind == 2:
            size, i = varint(b, i)
            v, i = bytes(b[i:i + size]), i + size
            if len(v) != size:
                raise Broken("cut field")
        elif kind == 5:
            v, i = int.from_bytes(b[i:i + 4], "little"), i + 4
        else:
            raise Broken("unknown wire type %d" % kind)
        yield tag >> 3, v


def signed(v, bits=64):
    return v - (1 << bits) if v >> (bits - 1) else v


def message(b):
    """Fields as {number: [values]}."""
    m = {}
    for k, v in fields(b):
        m.setdefault(k, []).append(v)
    return m


def one(m, k, default=None):
    return m[k][-1] if k in m else default


def packets(b):
    i, n = 0, len(b)
    while i < n:
        if b[i] != 0x0A:
            raise Broken("byte %d is not the begin of a packet" % i)
        size, i = varint(b, i + 1)
        if i + size > n:
            raise Broken("cut packet at byte %d" % i)
        yield b[i:i + size]
        i += size


class Sequence:
    def __init__(self):
        self.cleared = False
        self.clock = {}    # clock id -> [last time, incremental]
        self.default = None
        self.interned = {}  # kind -> {iid: text}


class Trace:
    def __init__(self):
        self.sequences = {}
        self.tracks = {}
        self.events = []
        self.samples = []
        self.problems = []
        self.packets = 0
        self.realtime = None

    def problem(self, text):
        if len(self.problems) < 20:
            self.problems.append(text)

    # ---- packets -------------------------------------------------------------------------

    def packet(self, b):
        m = message(b)
        self.packets += 1
        seq = one(m, 10)
        if not seq:
            raise Broken("packet without sequence id")
        s = self.sequences.setdefault(seq, Sequence())
        flags = one(m, 13, 0)
        if flags & CLEARED:
            s.__init__()
            s.cleared = True
        if flags & NEEDED and not s.cleared:
            self.problem("sequence %d needs a state that was never begun" % seq)
        if 59 in m:
            s.default = one(message(one(m, 59)), 58)
        if 6 in m:
            self.snapshot(s, message(one(m, 6)))
        if 12 in m:
            self.intern(s, message(one(m, 12)))
        if 60 in m:
            self.descriptor(message(one(m, 60)))
        if 66 in m:
            self.sample(s, self.time(s, m), message(one(m, 66)))
        if 11 in m:
            self.event(s, self.time(s, m), message(one(m, 11)))

    def snapshot(self, s, m):
        for c in m.get(1, []):
            c = message(c)
            s.clock[one(c, 1)] = [one(c, 2), bool(one(c, 3, 0))]
        if one(m, 2) != RAW:
            self.problem("primary clock is not MONOTONIC_RAW")
        if 1 in s.clock:
            self.realtime = s.clock[1][0] - s.clock[RAW][0]

    def time(self, s, m):
        t = one(m, 8)
        if t is None:
            raise Broken("event without a time")
        clock = one(m, 58, s.default)
        if clock == RAW:
            return t
        entry = s.clock.get(clock)
        if not entry or not entry[1]:
            raise Broken("time on unknown clock %r" % clock)
        entry[0] += t
        return entry[0]

    def intern(self, s, m):
        for kind, items in m.items():
            table = s.interned.setdefault(kind, {})
            for item in items:
                item = message(item)
                iid = one(item, 1)
                if kind in RAW_KINDS:
                    table[iid] = item
                    continue
                if iid in table:
                    self.problem("interned %d of kind %d twice" % (iid, kind))
                # Locations have the function as name; the others have theirs in field 2.
                text = one(item, 3 if kind == 4 else 2, b"").decode("utf-8")
                table[iid] = text

    def lookup(self, s, kind, iid):
        text = s.interned.get(kind, {}).get(iid)
        if text is None:
            self.problem("interned %d of kind %d unknown" % (iid, kind))
        return text

    def descriptor(self, m):
        uuid = one(m, 1)
        if uuid in self.tracks:
            self.problem("track %d described twice" % uuid)
        t = {"name": one(m, 2, b"").decode(), "parent": one(m, 5, 0), "kind": "track",
             "merge": (one(m, 15), one(m, 17))}
        if 3 in m:
            p = message(one(m, 3))
            t.update(kind="process", name=one(p, 6, b"").decode(), pid=one(p, 1))
        elif 4 in m:
            p = message(one(m, 4))
            t.update(kind="thread", name=one(p, 5, b"").decode(), tid=one(p, 2))
        elif 8 in m:
            c = message(one(m, 8))
            t.update(kind="counter", unit=one(c, 6, b"").decode() or {2: "count", 3: "bytes"}.get(one(c, 3)))
            if not t["unit"]:
                self.problem("counter track %d has no unit" % uuid)
        self.tracks[uuid] = t

    # ---- samples -------------------------------------------------------------------------

    def frame(self, s, iid):
        """(function, file that it lies in, its build id, source)"""
        f = self.lookup(s, FRAME, iid)
        m = self.lookup(s, MAPPING, one(f, 3)) if f else None
        if not m:
            return self.problem("a frame without a mapping") or ("?", "?", "", "")
        return (self.lookup(s, 5, one(f, 2)), "/".join(self.lookup(s, 17, p) for p in m.get(7, [])),
                one(self.lookup(s, BUILD_ID, one(m, 2)), 2, b"").hex(),
                self.lookup(s, 18, one(f, 5)) if 5 in f else "")

    def sample(self, s, time, m):
        stack = ()
        if 4 in m:
            stack = tuple(self.frame(s, f) for f in self.lookup(s, CALLSTACK, one(m, 4)).get(2, []))
        self.samples.append({"time": time, "pid": one(m, 2), "tid": one(m, 3), "cpu": one(m, 1), "callstack": one(m, 4, 0),
                             "kernel": one(m, 5) == 1, "stack": stack})

    # ---- events --------------------------------------------------------------------------

    def annotation(self, s, b):
        m = message(b)
        name = self.lookup(s, 3, one(m, 1)) if 1 in m else one(m, 10, b"").decode()
        return name, self.value(s, m)

    def value(self, s, m):
        if 12 in m:
            return [self.value(s, message(e)) for e in m[12]]
        for k, how in ((2, bool), (3, int), (4, signed), (7, int), (5, int)):
            if k in m:
                return how(one(m, k))
        if 6 in m:
            return one(m, 6).decode("utf-8")
        if 17 in m:
            return self.lookup(s, 29, one(m, 17))
        return self.problem("annotation without a value")

    def event(self, s, time, m):
        e = {"time": time, "type": one(m, 9), "track": one(m, 11)}
        if e["track"] not in self.tracks:
            self.problem("event on track %r that nothing describes" % e["track"])
        if 10 in m:
            e["name"] = self.lookup(s, 2, one(m, 10))
        elif 23 in m:
            e["name"] = one(m, 23).decode("utf-8")
        e["categories"] = [self.lookup(s, 1, c) for c in m.get(3, [])]
        e["flows"] = m.get(47, [])
        if 30 in m:
            e["value"] = signed(one(m, 30))
        if 44 in m:
            e["value"] = struct.unpack("<d", one(m, 44).to_bytes(8, "little"))[0]
        if e["type"] == COUNTER and "value" not in e:
            self.problem("a counter's event without a value")
        if e["type"] == COUNTER and self.tracks.get(e["track"], {}).get("kind") != "counter":
            self.problem("a counter's value on a track that is none")
        if 34 in m:
            e["site"] = self.lookup(s, 4, one(m, 34))
        e["args"] = dict(self.annotation(s, a) for a in m.get(4, []))
        self.events.append(e)

    # ---- the picture ---------------------------------------------------------------------

    def path(self, uuid):
        t = self.tracks.get(uuid, {"name": "?%d" % uuid, "parent": 0})
        up = self.path(t["parent"]) + " > " if t["parent"] else ""
        return up + (t["name"] or t.get("kind", "?"))

    def replay(self):
        rows, stacks, flows, steps = {}, {}, {}, []
        totals = {"slices": 0, "unfinished": 0, "instants": 0, "counter_points": 0, "errors": 0}
        for e in sorted(self.events, key=lambda e: e["time"]):
            row = rows.setdefault(e["track"], {
                "slices": 0, "duration_ns": 0, "instants": 0, "depth": 0, "unfinished": 0,
                "points": 0, "last": 0, "min": 0, "max": 0, "names": {}, "errors": 0})
            stack = stacks.setdefault(e["track"], [])
            for f in e["flows"]:
                if f in flows:
                    steps.append((flows[f], e))
                flows[f] = e
            if "error" in e["categories"]:
                row["errors"] += 1
                totals["errors"] += 1
            self.step(e, row, stack, totals)
        for uuid, stack in stacks.items():
            rows[uuid]["unfinished"] = len(stack)
            totals["unfinished"] += len(stack)
        return rows, steps, totals

    def step(self, e, row, stack, totals):
        if e["type"] == BEGIN:
            stack.append(e)
            row["slices"] += 1
            totals["slices"] += 1
            row["depth"] = max(row["depth"], len(stack))
            row["names"][e["name"]] = row["names"].get(e["name"], 0) + 1
        elif e["type"] == END:
            if not stack:
                return self.problem("an end without a begin on " + self.path(e["track"]))
            begin = stack.pop()
            row["duration_ns"] += e["time"] - begin["time"]
        elif e["type"] == INSTANT:
            row["instants"] += 1
            totals["instants"] += 1
            row["names"][e["name"]] = row["names"].get(e["name"], 0) + 1
        elif e["type"] == COUNTER:
            row["min"] = min(row["min"], e["value"]) if row["points"] else e["value"]
            row["max"] = max(row["max"], e["value"]) if row["points"] else e["value"]
            row["points"] += 1
            totals["counter_points"] += 1
            row["last"] = e["value"]
        else:
            self.problem("event of unknown type %r" % e["type"])
        return None

    def report(self):
        rows, steps, totals = self.replay()
        tracks = {}
        for uuid, row in sorted(rows.items()):
            if self.tracks.get(uuid, {}).get("kind") == "counter":
                keep = ("points", "last", "min", "max")
            else:
                keep = ("slices", "duration_ns", "instants", "depth", "unfinished", "errors",
                        "names")
            into = tracks.setdefault(self.path(uuid), {"lanes": 0})
            into["lanes"] += 1
            if "unit" in self.tracks.get(uuid, {}):
                into["unit"] = self.tracks[uuid]["unit"]
            for k in keep:
                if k == "names":
                    for name, n in row[k].items():
                        names = into.setdefault(k, {})
                        names[name] = names.get(name, 0) + n
                elif k in ("depth", "max"):
                    into[k] = max(into.get(k, 0), row[k])
                else:
                    into[k] = into.get(k, 0) + row[k]
        totals["packets"] = self.packets
        totals["flows"] = len(steps)
        totals["flows_backwards"] = sum(1 for a, b in steps if b["time"] < a["time"])
        kinds = [t["kind"] for t in self.tracks.values()]
        for k in ("process", "thread", "counter", "track"):
            totals["tracks_" + k] = kinds.count(k)
        for uuid, t in self.tracks.items():
            if t["parent"] and t["parent"] not in self.tracks:
                self.problem("track %d has an unknown parent" % uuid)
        return {"totals": totals, "tracks": tracks, "problems": self.problems}


def read(path):
    t = Trace()
    with open(path, "rb") as f:
        try:
            data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise Broken("the file is empty")
        for p in packets(data):
            t.packet(p)
    return t


def lookup(report, path):
    for key in path.split("."):
        report = report[key] if key in report else None
    return report


def main(argv):
    if len(argv) < 2:
        sys.stderr.write(__doc__)
        return 2
    try:
        report = read(argv[1]).report()
    except (Broken, IndexError, UnicodeDecodeError) as e:
        print(json.dumps({"problems": ["%s: %s" % (argv[1], e)]}))
        return 1
    failed = bool(report["problems"])
    for expectation in argv[2:]:
        if expectation == "--expect":
            continue
        path, _, want = expectation.partition("=")
        have = lookup(report, path)
        if str(have) != want:
            report["problems"].append("%s is %s, not %s" % (path, have, want))
            failed = True
    print(json.dumps(report, indent=1, ensure_ascii=False))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
