#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kokkos Tools: test_kokkos.py KYMO WHAT."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, skip  # noqa: E402


class Test(base.Test):
    def fake(self):
        return self.compile("fake", "-std=gnu11", os.path.join(HERE, "fake.c"), "-ldl")

    def test_fake(self):
        self.record(self.fake())
        check("ranges", self.tree(), {
            "solve": 1, "solve/fill": 1, "solve/sum": 1, "solve/scan": 1, "solve/wait": 1,
            "section": 1, "deep_copy": 1})
        m = self.markers()
        check("kernel", m["fill"], [("range", "kokkos", "parallel_for", {"device": 3})])
        check("copy", m["deep_copy"][0][3], {"from_space": "Host", "from": "from",
                                             "to_space": "Host", "to": "to", "bytes": 77})
        check("views", [(x[2], x[3]["space"], x[3]["bytes"]) for n in ("view", "far") for x in m[n]],
              [("allocate", "Host", 100), ("free", "Host", 100), ("allocate", "Cuda", 50),
               ("free", "Cuda", 50)])
        check("the host's memory", self.query(
            "SELECT type, size FROM memory_allocations ORDER BY start"),
              [{"type": "ALLOC", "size": 100}, {"type": "FREE", "size": 100}])
        check("copies", self.query("SELECT size FROM memory_copies"), [{"size": 77}])
        check("notes", self.notes("marker"), {})

    def test_hostile(self):
        self.record(self.fake(), "hostile")
        check("popped", self.notes("marker").get("a range was popped that was not pushed"), 1)
        check("lost", self.lost(), 0)

    def test_real(self):
        folder = "/usr/include/trilinos"
        if not os.path.exists(os.path.join(folder, "Kokkos_Core.hpp")):
            skip("no Kokkos here (package libtrilinos-kokkos-dev)")
        program = self.compile("program", "-fopenmp", "-I" + folder,
                               os.path.join(HERE, "program.cpp"), "-ltrilinos_kokkoscore", "-ldl",
                               compiler="c++")
        self.record(program, env={"KOKKOS_PROFILE_LIBRARY": self.lib}) # as older ones call it
        tree = self.tree()
        check("ranges", {n: tree.get(n) for n in ("solve/fill", "solve/deep_copy", "solve/sum")},
              {"solve/fill": 1, "solve/deep_copy": 1, "solve/sum": 1})
        sizes = self.query("SELECT count(*) AS n FROM memory_allocations WHERE size = 8000")
        check("views", sizes, [{"n": 4}])


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
