# SPDX-License-Identifier: Apache-2.0
"""Made-up kernels of all kinds of statements, one a seed, that count themselves: HIT(n) adds one to own[n] and is 0."""
import random

HEAD = """#define HIT(n) (atomic_inc(&own[n]) & 0)
"""


class Maker:
    def __init__(self, seed):
        self.random, self.hits, self.lines, self.loops, self.labels = random.Random(seed), 0, [], 0, 0

    def hit(self):
        self.hits += 1
        return f"HIT({self.hits - 1})"

    def value(self, depth=0):
        """An expression; at times with parts that do not always run."""
        kind = self.random.randrange(9 if depth < 3 else 3)
        a = lambda: self.value(depth + 1)
        return (["i", "n", str(self.random.randrange(7))][kind] if kind < 3 else
                f"({a()} + {self.hit()})" if kind == 3 else
                f"({a()} > {a()} ? {self.hit()} + {a()} : {a()})" if kind == 4 else
                f"({a()} % 3 == 1 && {self.hit()} == 0 && {a()})" if kind == 5 else
                f"({a()} < 4 || {self.hit()} || {a()} > 2)" if kind == 6 else
                f"(n++, {a()})" if kind == 7 else f"helper{self.random.randrange(2)}(own, {a()})" if self.inside else a())

    def say(self, depth, text):
        self.lines.append("\t" * depth + text)

    def body(self, depth, loop, switch):
        if self.random.random() < 0.3:
            self.statement(depth + 1, loop, switch)
            return
        self.say(depth, "{")
        self.block(depth + 1, loop, switch)
        self.say(depth, "}")

    def loop(self, depth, kind):
        self.loops += 1
        v = f"v{self.loops}"
        self.say(depth, f"int {v} = 0;")
        if kind == 0:
            self.say(depth, f"for (; {v} < {self.random.randrange(1, 5)} && !{self.hit()}; {v}++, n += {self.hit()})")
        elif kind == 1:
            self.say(depth, f"while ({v}++ < {self.value()} % 4)")
        else:
            self.say(depth, "do {")
            self.block(depth + 1, True, False)
            self.say(depth, f"}} while ({v}++ < {self.random.randrange(3)} + {self.hit()});")
            return
        self.body(depth, True, False)

    def switch(self, depth, loop):
        self.say(depth, f"switch ({self.value()} % 4) {{")
        for case in self.random.sample(["case 0:", "case 1:", "case 2:", "default:"], 3):
            self.say(depth, case)
            self.block(depth + 1, loop, True, 2)
            if self.random.random() < 0.5:
                self.say(depth + 1, "break;")
        self.say(depth, "}")

    def statement(self, depth, loop, switch):
        kind = self.random.randrange(12 if depth < 3 else 4)
        if kind == 0 and depth > 1 and self.random.random() < 0.5:
            words = (["break;"] if loop or switch else []) + (["continue;"] if loop else [])
            words += ["return;" if self.kernel else f"return {self.value()};"]
            self.say(depth, f"if ({self.value()} % 5 == 2) {self.random.choice(words)}")
        elif kind < 4:
            self.say(depth, f"n += {self.value()} & 15;")
        elif kind < 7:
            self.say(depth, f"if ({self.value()} > 3)")
            self.body(depth, loop, switch)
            if self.random.random() < 0.5:
                self.say(depth, "else")
                self.body(depth, loop, switch)
        elif kind < 10:
            self.say(depth, "{")
            self.loop(depth + 1, kind - 7)
            self.say(depth, "}")
        elif kind == 10:
            self.switch(depth, loop)
        else:
            self.labels += 1
            label = f"label{self.labels}"
            self.say(depth, "{")
            self.say(depth + 1, f"if (i & 1) goto {label};")
            self.block(depth + 1, loop, switch)
            self.say(depth, f"{label}:")
            self.say(depth + 1, f"{self.hit()};")
            self.say(depth, "}")

    def block(self, depth, loop, switch, most=4):
        for _ in range(self.random.randrange(1, most)):
            self.statement(depth, loop, switch)
        self.say(depth, f"{self.hit()};")

    def function(self, head, kernel, inside):
        self.kernel, self.inside = kernel, inside
        self.say(0, head)
        self.say(0, "{")
        self.say(1, "int n = 0;" if not kernel else "int i = get_global_id(0), n = 0;")
        for _ in range(2):
            self.block(1, False, False)
        self.say(1, "out[i] = n;" if kernel else "return n & 31;")
        self.say(0, "}")


def make(seed):
    m = Maker(seed)
    m.function("int helper0(volatile __global int *own, int i)", False, False)
    m.function("int helper1(volatile __global int *own, int i)", False, False)
    m.function("__kernel void made(volatile __global int *own, __global int *out)", True, True)
    return HEAD + "\n".join(m.lines) + "\n"
