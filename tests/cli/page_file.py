# SPDX-License-Identifier: Apache-2.0
"""Reads a page of `kymo report` as docs/page.md describes it, and nothing else."""
import base64
import gzip
import hashlib
import html.parser
import itertools
import json
import struct


class Elements(html.parser.HTMLParser):
    """Tags as a browser without scripts meets them, and the text of script and style."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.raw, self.text, self.attributes = [], [], [], []
        self.inside = None

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, k) for k, _ in attrs]
        if tag in ("script", "style"):
            self.inside = (tag, dict(attrs))
            self.raw.append([tag, dict(attrs), ""])
        elif tag == "meta" and dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.raw[-1][2] += data
        else:
            self.text.append(data)


def sha(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def undo(numbers, coding, ops):
    if coding == 0:
        return numbers
    signed = [(n >> 1) ^ -(n & 1) for n in numbers]
    if coding == 1:
        return [v % 2**64 for v in itertools.accumulate(signed)]
    last, out = {}, []
    for v, op in zip(signed, ops):
        last[op] = (last.get(op, 0) + v) % 2**64
        out.append(last[op])
    return out


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8", newline="") as f:
            self.html = f.read()
        self.size = len(self.html.encode())
        self.elements = Elements()
        self.elements.feed(self.html)
        self.elements.close()
        named = {attrs.get("id"): text for tag, attrs, text in self.elements.raw if tag == "script"}
        self.script = named[None]
        self.style = next(text for tag, _, text in self.elements.raw if tag == "style")
        self.head = json.loads(named["kymo-head"])
        self.data = base64.b64decode(named["kymo-data"], validate=True)
        self.unpacked = {}

    def section(self, n):
        if n not in self.unpacked:
            offset, length, raw = self.head["sections"][n]
            self.unpacked[n] = gzip.decompress(self.data[offset:offset + length])
            assert len(self.unpacked[n]) == raw
        return self.unpacked[n]

    def columns(self, section):
        data = self.section(section)
        count, columns = struct.unpack_from("<IB", data)
        at, numbers, out = 5 + 3 * columns, {}, {}
        for i in range(columns):
            kind, width, coding = data[5 + 3 * i:8 + 3 * i]
            planes = [data[at + k * count:at + (k + 1) * count] for k in range(width)]
            at += width * count
            numbers[kind] = ([sum(b << (8 * k) for k, b in enumerate(bytes_)) for bytes_ in zip(*planes)]
                             if width else [0] * count, coding)
        assert at == len(data)
        for kind in sorted(numbers, key=lambda k: k != 3):
            out[kind] = undo(*numbers[kind], out.get(3))
        return count, out

    def name(self, op):
        return self.head["names"][self.head["ops"][op]["name"]]

    def block(self, block):
        """(start, end, op, submitter's row or None, its number, bytes, flags), times in ns."""
        start, _, count, _, section, _ = block
        n, c = self.columns(section)
        assert n == count
        none, at, out = [0] * n, start, []
        get = lambda kind: c.get(kind, none)
        quantum = self.head["quantum"]
        for gap, duration, op, row, index, size, flags in zip(get(1), get(2), get(3), get(4), get(5), get(7), get(9)):
            at += gap * quantum
            out.append((at, at + duration * quantum, op, row - 1 if row else None, index, size, flags))
            at += duration * quantum
        return out

    def slices(self, row):
        return [s for b in self.head["rows"][row]["blocks"] for s in self.block(b)]

    def window(self, row, start, end):
        """Slices that begin in it, and busy ns: of blocks that lie in it wholly as the head has them."""
        count = busy = 0
        for b in self.head["rows"][row]["blocks"]:
            if b[1] <= start and b[0] < start or b[0] >= end:
                continue
            if start <= b[0] and b[1] < end:
                count += b[2]
                busy += b[3]
                continue
            for s in self.block(b):
                count += start <= s[0] < end
                busy += max(0, min(s[1], end) - max(s[0], start))
        return count, busy

    def level(self, number):
        v = self.head["levels"][number]
        data, bins, at = self.section(v["section"]), v["bins"], v["offset"]
        return (v["bin"], data[at:at + bins], struct.unpack_from(f"<{bins}I", data, at + bins),
                struct.unpack_from(f"<{bins}I", data, at + 5 * bins))

    def points(self, curve):
        out = []
        for start, _, count, section in curve["blocks"]:
            n, c = self.columns(section)
            assert n == count
            times = itertools.accumulate((gap * self.head["quantum"] for gap in c[1]), initial=start)
            next(times)
            out += zip(times, [struct.unpack("<d", struct.pack("<Q", v))[0] for v in c[8]])
        return out

    def curve_level(self, level):
        data, bins, at = self.section(level["section"]), level["bins"], level["offset"]
        return [struct.unpack_from(f"<{bins}d", data, at + 8 * bins * i) for i in range(3)]

    def messages(self):
        """(row, number) of the call that sends, of that which receives, bytes."""
        for section, count, _, _ in self.head["messages"]:
            n, c = self.columns(section)
            assert n == count
            yield from zip(zip(c[10], c[11]), zip(c[12], c[13]), c[7])
