# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces made by hand: messages are written as their published descriptions number them, without a library."""
import struct

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
CLEARED, NEEDS = 1, 2
REALTIME, MONOTONIC, MONOTONIC_RAW, BOOTTIME = 1, 3, 5, 6


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def put(field, v):
    """A field: numbers are varints, real ones fixed, texts and messages have a length."""
    if isinstance(v, float):
        return varint(field << 3 | 1) + struct.pack("<d", v)
    if isinstance(v, int):
        return varint(field << 3) + varint(v)
    v = v.encode() if isinstance(v, str) else v
    return varint(field << 3 | 2) + varint(len(v)) + v


def fixed(field, v):
    return varint(field << 3 | 1) + struct.pack("<Q", v)


def packet(*parts, seq=1, ts=None, clock=None, flags=0):
    body = b"".join(parts) + put(10, seq)
    if ts is not None:
        body += put(8, ts)
    if clock:
        body += put(58, clock)
    if flags:
        body += put(13, flags)
    return put(1, body)


def note(name, v):
    """A debug annotation: lists and dictionaries nest."""
    key = put(1, name) if isinstance(name, int) else put(10, name) if name is not None else b""
    if isinstance(v, bool):
        return key + put(2, int(v))
    if isinstance(v, float):
        return key + put(5, v)
    if isinstance(v, int):
        return key + (put(3, v) if v >= 0 else put(4, v))
    if isinstance(v, str):
        return key + put(6, v)
    if isinstance(v, dict):
        return key + b"".join(put(11, note(k, x)) for k, x in v.items())
    return key + b"".join(put(12, note(None, x)) for x in v)


def event(phase, track=None, name=None, category=None, flows=(), ends=(), correlation=None, **notes):
    body = put(9, phase)
    if track is not None:
        body += put(11, track)
    if name is not None:
        body += put(10, name) if isinstance(name, int) else put(23, name)
    if category is not None:
        body += put(3, category) if isinstance(category, int) else put(22, category)
    body += b"".join(fixed(47, f) for f in flows) + b"".join(fixed(48, f) for f in ends)
    if correlation is not None:
        body += put(52, correlation)
    return put(11, body + b"".join(put(4, note(k, v)) for k, v in notes.items()))


def slice_(track, name, start, end, category=None, seq=1, **more):
    return (packet(event(BEGIN, track, name, category, **more), ts=start, seq=seq) +
            packet(event(END, track), ts=end, seq=seq))


def value(track, v, ts, seq=1):
    body = put(9, COUNTER) + put(11, track) + put(44 if isinstance(v, float) else 30, v)
    return packet(put(11, body), ts=ts, seq=seq)


def track(uuid, name=None, parent=None, extra=b"", seq=1):
    body = put(1, uuid) + (put(2, name) if name is not None else b"") + (put(5, parent) if parent else b"")
    return packet(put(60, body + extra), seq=seq)


def process(uuid, pid, name, seq=1):
    return track(uuid, extra=put(3, put(1, pid) + put(6, name)), seq=seq)


def thread(uuid, parent, pid, tid, name, seq=1):
    return track(uuid, parent=parent, extra=put(4, put(1, pid) + put(2, tid) + put(5, name)), seq=seq)


def counter(uuid, name, parent=None, unit=None, multiplier=None, incremental=False, seq=1):
    body = put(6, unit) if unit else b""
    body += put(4, multiplier) if multiplier else b""
    body += put(5, 1) if incremental else b""
    return track(uuid, name, parent, put(8, body), seq=seq)


def interned(**kinds):
    """names={iid: text}, categories=..., annotations=..."""
    fields = {"categories": 1, "names": 2, "annotations": 3, "texts": 29}
    return put(12, b"".join(put(fields[k], put(1, iid) + put(2, text)) for k, v in kinds.items() for iid, text in v.items()))


def snapshot(clocks, primary=None, seq=1):
    """{id: time} or {id: (time, incremental, multiplier)}"""
    body = b""
    for i, v in clocks.items():
        time, incremental, multiplier = v if isinstance(v, tuple) else (v, 0, 0)
        body += put(1, put(1, i) + put(2, time) + (put(3, 1) if incremental else b"") + (put(4, multiplier) if multiplier else b""))
    return packet(put(6, body + (put(2, primary) if primary else b"")), seq=seq)
