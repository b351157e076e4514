# SPDX-License-Identifier: Apache-2.0
"""A writer of CTF 1.8 by its specification, for tests of readers: all integers little endian and on whole bytes, metadata as
text, one stream of packets."""
import os
import struct

MAGIC = 0xC1FC1FC1
HEAD = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; packet.header := struct {
  integer { size = 32; align = 8; base = 16; } magic; integer { size = 32; align = 8; } stream_id; }; };
env { hostname = "%s"; domain = "%s"; tracer_name = "lttng-%s"; };
"""
CLOCK = """clock { name = monotonic; freq = 1000000000; offset = %d; };
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := ts_t;
"""
TYPES = """typealias integer { size = 64; align = 8; } := u64;
typealias integer { size = 64; align = 8; base = 16; } := x64;
typealias integer { size = 64; align = 8; signed = true; } := i64;
typealias integer { size = 32; align = 8; signed = true; } := i32;
"""
STREAM = """stream { id = 0; packet.context := struct { ts_t timestamp_begin; ts_t timestamp_end; u64 content_size; u64 packet_size;
  u64 events_discarded; u64 packet_seq_num; u64 cpu_id; };
  event.header := struct { u64 id; ts_t timestamp; };
  event.context := struct { %s }; };
"""
UNTIMED = """stream { id = 0; packet.context := struct { u64 content_size; u64 packet_size; };
  event.header := struct { u64 id; };
  event.context := struct { %s }; };
"""
# What contexts of events have: of a program, as "lttng add-context -t vpid -t vtid -t procname" adds; of the kernel, none; of
# intervals and sums that iprof saves, whose own clock is gone.
USER = "i32 _vpid; i32 _vtid; string _procname;"
NONE = "integer { size = 8; align = 8; } _nothing;"
SUM = "string _hostname; i64 _vpid; u64 _vtid; string _name; u64 _min; u64 _max; u64 _total; u64 _count;"
INTERVAL = "string _hostname; i64 _vpid; u64 _vtid; i64 _ts; i64 _backend;"


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
    """Events of one stream for each processor; `context` is what each event has before its fields."""

    def __init__(self, hostname="node1", offset=1700000000 * 10**9, domain="ust", context=USER, clock=True):
        self.clock = clock
        self.head = HEAD % (hostname, domain, "modules" if domain == "kernel" else domain) + (CLOCK % offset if clock else "") + TYPES
        self.head += (STREAM if clock else UNTIMED) % context
        self.classes = {}
        self.events = []
        self.discarded = 0
        self.packets_lost = 0

    def event(self, name, pid, tid, at, /, **fields):
        self.put(name, struct.pack("<ii", pid, tid) + pack("app"), at, 0, **fields)

    def put(self, name, context, at, processor, /, **fields):
        kinds = tuple((k, kind(v)) for k, v in fields.items())
        number, known = self.classes.setdefault(name, (len(self.classes), kinds))
        assert known == kinds, (name, known, kinds)
        time = struct.pack("<Q", at) if self.clock else b""
        self.events.append((at, processor, struct.pack("<Q", number) + time + context + b"".join(pack(v) for v in fields.values())))

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
        for processor in sorted({e[1] for e in self.events}):
            events = [e for e in self.events if e[1] == processor]
            if self.clock:
                events.sort(key=lambda e: e[0])
            with open(os.path.join(folder, f"channel0_{processor}"), "wb") as f:
                for data in self.packets(events, max(1, -(-len(events) // packets)), processor):
                    f.write(data)
        return folder

    def packets(self, events, each, processor):
        for i in range(0, len(events), each):
            part = events[i:i + each]
            body = b"".join(e[2] for e in part)
            bits = 8 * (8 + (56 if self.clock else 16) + len(body))
            head = struct.pack("<II", MAGIC, 0)
            if not self.clock:
                yield head + struct.pack("<2Q", bits, bits) + body
                continue
            yield head + struct.pack("<7Q", part[0][0], part[-1][0], bits, bits, self.discarded if i else 0,
                                     i // each + (self.packets_lost if i else 0), processor) + body
