# SPDX-License-Identifier: Apache-2.0
"""The Python front end: decorator, context manager, values of each type, threads, pause."""
import sys
import threading

import kymo


@kymo.range("decorated", category="io")
def decorated(depth):
    return decorated(depth - 1) if depth else 0


kymo.name_thread("python main")
with kymo.range("whole") as whole:
    decorated(1)
    with kymo.range("full", domain="library", color=0xff112233, n=-3, x=0.5, t="text", b=b"\1\0\2",
                    big=1 << 63) as r:
        r.add(more=True)
        kymo.mark("inside", k="v")
    try:
        with kymo.range("fails"):
            raise ValueError("as expected")
    except ValueError:
        kymo.mark("caught")
    across = kymo.ProcessRange("across")


def worker():
    kymo.name_thread("python worker")
    across.stop()


thread = threading.Thread(target=worker)
thread.start()
thread.join()
with kymo.paused():
    kymo.mark("not seen")
kymo.pop()  # nothing to pop: counted
if len(sys.argv) > 1:
    print("tracing" if kymo.tracing() else "not tracing")
