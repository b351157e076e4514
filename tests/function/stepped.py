# SPDX-License-Identifier: Apache-2.0
"""For gdb, in a traced program: instruction by instruction through calls of leaf(), main() is found from each. Prints how often and where not."""
import gdb

STEPS = 600


def names():
    frame, found = gdb.newest_frame(), []
    try:
        while frame and len(found) < 20:
            found.append(frame.name())
            frame = frame.older()
    except gdb.error:
        pass
    return found


for word in ("pagination off", "confirm off", "startup-with-shell off", "breakpoint pending on"):
    gdb.execute("set " + word)
# A breakpoint in a function's first bytes before it is patched would be somebody else's patch.
gdb.execute("break main")
gdb.execute("run", to_string=True)
gdb.execute("break leaf")
for _ in range(3):
    gdb.execute("continue", to_string=True)
gdb.execute("delete")
lost, inside = {}, 0
for _ in range(STEPS):
    seen = names()
    place = gdb.execute("info symbol $pc", to_string=True).strip()
    inside += "function_left" in place
    if "main" not in seen:
        lost[place] = seen
    gdb.execute("stepi", to_string=True)
print("instructions of the way back:", inside, "lost:", lost)
gdb.execute("kill")
