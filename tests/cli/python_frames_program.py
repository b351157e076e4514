# SPDX-License-Identifier: Apache-2.0
"""Says where its threads wait, with functions, files and lines, and then spends time: python_frames_program.py OUT."""
import json
import sys
import threading
import time

WAITED = {}
BOTH = threading.Barrier(2)


def here():
    """The stack of who asks, the innermost function first."""
    frame, found = sys._getframe(1), []
    while frame:
        found.append((frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return found


def wait():
    BOTH.wait()
    WAITED[threading.current_thread().name] = (threading.get_native_id(), here()); time.sleep(0.7)  # noqa: E702


class Größe:
    def method(self, depth):
        if depth:
            return self.method(depth - 1)
        return wait()

    def inner(self):
        def closure(x):
            self.method(3)
            return x
        return sorted([2, 1], key=lambda x: closure(x) if x == 1 else x)  # a function of C is between


def numbers(n):
    for i in range(n):
        if i == 1:
            wait()
        yield i


def chained(n):
    yield from (x for x in numbers(n))


def of_thread():
    list(chained(3))


def leaf(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s


def spend():
    until = time.process_time() + 0.5
    while time.process_time() < until:
        max(map(leaf, [2000] * 10))


def main():
    t = threading.Thread(target=of_thread, name="other")
    t.start()
    Größe().inner()
    t.join()
    spend()
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(WAITED, f)


main()
