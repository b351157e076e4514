# SPDX-License-Identifier: Apache-2.0
"""A writer of CTF 1.8 by its specification, for tests of readers: all integers little endian and on whole bytes, metadata as
text, one stream of packets."""
import os
import struct

MAGIC = 0xC1FC1FC1
HEAD = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; packet.header := struct {
  integer { size = 32; align = 8; base = 16; } magic; integer { size = 32; align = 8; } stream_id; }; };
env { hostname = "%s"; domain = "ust"; tracer_name = "lttng-ust"; };
clock { name = monotonic; freq = 1000000000; offset = %d; };
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := ts_t;
typealias integer { size = 64; align = 8; } := u64;
typealias integer { size = 64; align = 8; base = 16; } := x64;
typealias integer { size = 64; align = 8; signed = true; } := i64;
typealias integer { size = 32; align = 8; signed = true; } := i32;
stream { id = 0; packet.context := struct { ts_t timestamp_begin; ts_t timestamp_end; u64 content_size; u64 packet_size;
  u64 events_discarded; };
  event.header := struct { u64 id; ts_t timestamp; };
  event.context := struct { i32 _vpid; i32 _vtid; string _procname; }; };
"""


class Sizes(list):
    """A sequence of numbers."""


class Hex(int):
    """A number that is an address or a handle."""


def kind(value):
    return "string" if isinstance(value, str) else "sizes" if isinstance(value, Sizes) else "x64" if isinstance(value, Hex) else "i64"


def pack(value):
    if isinstance(value, str):
        return value.encode() + b"\0"
    if isinstance(value, Sizes):
        return struct.pack(f"<{len(value) + 1}Q", len(value), *value)
    return struct.pack("<Q", int(value) & (2**64 - 1))


class Trace:
    def __init__(self, hostname="node1", offset=1700000000 * 10**9):
        self.head = HEAD % (hostname, offset)
        self.classes = {}
        self.events = []
        self.discarded = 0

    def event(self, name, pid, tid, at, **fields):
        kinds = tuple((k, kind(v)) for k, v in fields.items())
        number, known = self.classes.setdefault(name, (len(self.classes), kinds))
        assert known == kinds, (name, known, kinds)
        self.events.append((at, struct.pack("<QQii", number, at, pid, tid) + pack("app") + b"".join(pack(v) for v in fields.values())))

    def metadata(self):
        out = [self.head]
        for name, (number, kinds) in self.classes.items():
            fields = " ".join(f"u64 _{k}_length; u64 {k}[_{k}_length];" if of == "sizes" else f"{of} _{k};" for k, of in kinds)
            out.append(f'event {{ name = "{name}"; id = {number}; stream_id = 0; fields := struct {{ {fields} }}; }};\n')
        return "".join(out)

    def write(self, folder, packets=1):
        os.makedirs(folder)
        with open(os.path.join(folder, "metadata"), "w", encoding="utf-8") as f:
            f.write(self.metadata())
        events = sorted(self.events, key=lambda e: e[0])
        each = max(1, -(-len(events) // packets))
        with open(os.path.join(folder, "channel0_0"), "wb") as f:
            for i in range(0, len(events), each):
                part = events[i:i + each]
                body = b"".join(e[1] for e in part)
                bits = 8 * (8 + 40 + len(body))
                lost = self.discarded if i else 0
                f.write(struct.pack("<II5Q", MAGIC, 0, part[0][0], part[-1][0], bits, bits, lost) + body)
        return folder
