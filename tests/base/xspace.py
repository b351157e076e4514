# SPDX-License-Identifier: Apache-2.0
"""Profiles of XLA (XSpace), read and written from the published numbers of their fields alone: nothing of Kymo's is in it.

    for plane in read(path).planes: plane.name, plane.stats, plane.lines[0].events[0].stats["correlation_id"]
    write(path, [plane("/host:CPU", lines=[line(1, "main", [event("step", 10, 5, {"a": 1})])])])
"""
import gzip
import struct

MASK = (1 << 64) - 1


class Damaged(Exception):
    pass


# ---- reading -----------------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Damaged("a number without an end")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & MASK, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            n, at = varint(data, at)
            if at + n > len(data):
                raise Damaged("a field longer than its message")
            value, at = data[at:at + n], at + n
        elif kind == 5:
            value, at = data[at:at + 4], at + 4
        else:
            raise Damaged(f"wire type {kind}")
        yield tag >> 3, kind, value


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def text(v):
    return bytes(v).decode()  # strictly: as readers of the format do


class Thing:
    def __init__(self, **what):
        self.__dict__.update(what)

    def __repr__(self):
        return repr(self.__dict__)


def stat(data, names):
    """(metadata_id, name, value, type)"""
    number, value, kind = 0, None, None
    for f, _, v in fields(data):
        if f == 1:
            number = signed(v)
        elif f == 2:
            value, kind = struct.unpack("<d", v)[0], "double"
        elif f in (3, 4):
            value, kind = (v, "uint64") if f == 3 else (signed(v), "int64")
        elif f in (5, 6):
            value, kind = (text(v), "str") if f == 5 else (bytes(v), "bytes")
        elif f == 7:
            value, kind = names[v], "ref"
    return number, names.get(number), value, kind


def event(data, line, event_names, stat_names):
    e = Thing(offset_ps=0, duration_ps=0, stats={}, types={}, occurrences=None)
    ids = []
    for f, _, v in fields(data):
        if f == 1:
            e.metadata_id = signed(v)
            e.name = event_names[e.metadata_id]
        elif f == 2:
            e.offset_ps = signed(v)
        elif f == 3:
            e.duration_ps = signed(v)
        elif f == 4:
            number, name, value, kind = stat(v, stat_names)
            ids.append(number)
            e.stats[name], e.types[name] = value, kind
        elif f == 5:
            e.occurrences = signed(v)
        else:
            raise Damaged(f"field {f} of an event")
    if len(ids) != len(set(ids)):
        raise Damaged("an event has two stats of one id")
    e.start_ps = line.timestamp_ns * 1000 + e.offset_ps
    e.start, e.duration = e.start_ps // 1000, e.duration_ps // 1000
    return e


def names_of(entry):
    key, value = 0, b""
    for f, _, v in fields(entry):
        key, value = (signed(v), value) if f == 1 else (key, v)
    name = number = ""
    for f, _, v in fields(value):
        number = signed(v) if f == 1 else number
        name = text(v) if f == 2 else name
    if number != key:
        raise Damaged(f"metadata {number} has the key {key}")
    return key, name


def line(data, event_names, stat_names):
    x = Thing(id=0, name="", timestamp_ns=0, display_id=0, display_name="", events=[])
    parts = list(fields(data))
    for f, _, v in parts:
        if f in (1, 3, 10):
            setattr(x, {1: "id", 3: "timestamp_ns", 10: "display_id"}[f], signed(v))
        elif f in (2, 11):
            setattr(x, {2: "name", 11: "display_name"}[f], text(v))
    x.events = [event(v, x, event_names, stat_names) for f, _, v in parts if f == 4]
    return x


def plane(data):
    p = Thing(id=0, name="", lines=[], stats={}, edges=[])
    parts = list(fields(data))
    p.event_names = [names_of(v) for f, _, v in parts if f == 4]
    p.stat_names = [names_of(v) for f, _, v in parts if f == 5]
    for names in (p.event_names, p.stat_names):
        if len(dict(names)) != len(names) or len({n for _, n in names}) != len(names):
            raise Damaged("metadata of one id or name in " + p.name)
    events, stats = dict(p.event_names), dict(p.stat_names)
    for f, _, v in parts:
        if f == 1:
            p.id = signed(v)
        elif f == 2:
            p.name = text(v)
        elif f == 6:
            number, name, value, kind = stat(v, stats)
            p.stats[name] = value
            p.edges.append((number, value, kind))
        elif f == 3:
            p.lines.append(line(v, events, stats))
    return p


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    space = Thing(planes=[], errors=[], warnings=[], hostnames=[])
    for f, kind, v in fields(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data):
        if kind != 2:
            raise Damaged("the file is no message of that kind")
        if f == 1:
            space.planes.append(plane(v))
        else:
            {2: space.errors, 3: space.warnings, 4: space.hostnames}[f].append(text(v))
    return space


def crossings(line_):
    """Events of a line may lie in each other, and must not cross; they are in the order of their begins."""
    bad, open_, last = 0, [], 0
    for e in line_.events:
        bad += e.offset_ps < last
        last = e.offset_ps
        while open_ and open_[-1] <= e.offset_ps:
            open_.pop()
        bad += bool(open_) and open_[-1] < e.offset_ps + e.duration_ps
        open_.append(e.offset_ps + e.duration_ps)
    return bad


# ---- writing -----------------------------------------------------------------------------------

def number(v):
    v &= MASK
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def put(field, v):
    if isinstance(v, int):
        return number(field << 3) + number(v)
    if isinstance(v, float):
        return number(field << 3 | 1) + struct.pack("<d", v)
    v = v.encode("utf-8", "surrogateescape") if isinstance(v, str) else v
    return number(field << 3 | 2) + number(len(v)) + v


class Unsigned(int):
    pass


class Plane:
    """Puts a plane together; values: int, Unsigned, float, bytes, a text (a reference), [text] (in place)."""

    def __init__(self, name, number_=0, stats=None):
        self.events, self.stats, self.lines = {}, {}, b""
        self.head = put(1, number_) + put(2, name)
        self.tail = b"".join(put(6, self.stat(k, v)) for k, v in (stats or {}).items())

    def name(self, table, text_):
        return table.setdefault(text_, len(table) + 1)

    def stat(self, name, value):
        out = put(1, name if isinstance(name, int) else self.name(self.stats, name))
        if isinstance(value, Unsigned):
            return out + put(3, int(value))
        if isinstance(value, int):
            return out + put(4, value)
        if isinstance(value, float):
            return out + put(2, value)
        if isinstance(value, bytes):
            return out + put(6, value)
        return out + (put(7, self.name(self.stats, value)) if isinstance(value, str) else put(5, value[0]))

    def event(self, name, offset_ps, duration_ps, **stats):
        out = put(1, self.name(self.events, name)) + put(2, offset_ps) + put(3, duration_ps)
        return out + b"".join(put(4, self.stat(k, v)) for k, v in stats.items())

    def line(self, number_, name, timestamp_ns, events, **more):
        out = put(1, number_) + put(2, name) + put(3, timestamp_ns) + b"".join(put(4, e) for e in events)
        out += put(11, more["display_name"]) if "display_name" in more else b""
        self.lines += put(3, out)

    def packed(self):
        def table(field, names):
            return b"".join(put(field, put(1, i) + put(2, put(1, i) + put(2, n))) for n, i in names.items())
        return put(1, self.head + self.lines + table(4, self.events) + table(5, self.stats) + self.tail)


def write(path, planes, hostnames=()):
    data = b"".join(p if isinstance(p, bytes) else p.packed() for p in planes)
    data += b"".join(put(4, h) for h in hostnames)
    with (gzip.open(path, "wb") if path.endswith(".gz") else open(path, "wb")) as f:
        f.write(data)
    return path
