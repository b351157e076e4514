# SPDX-License-Identifier: Apache-2.0
"""Planted violations of the layers are found, by what is written or by what the compiler read."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
LAYERS = os.path.join(ROOT, "tools", "check", "layers.py")

NINJA = """rule cc
  command = cc -MMD -MF $out.d -I ../src -I ../vendor -I ../include -c $in -o $out
  depfile = $out.d
  deps = gcc
"""


class Layers(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        for header in ("src/core/capture.h", "src/core/ring/ring.h", "src/base/text.h", "include/kymo/kymo.h", "vendor/nvml.h", "vendor/papi.h",
                       "vendor/ittnotify.h", "vendor/ompt.h", "vendor/zes_api.h", "vendor/CL/cl.h", "vendor/sqlite3.h"):
            self.write(header, "")
        self.write("src/base/text.c", '#include "base/text.h"\n')

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def check(self, *build):
        done = subprocess.run([sys.executable, "-B", LAYERS, self.root, *build], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout

    def built(self):
        """What is compiled of src, then checked."""
        build = os.path.join(self.root, "build")
        lines = []
        for folder, _, names in os.walk(os.path.join(self.root, "src")):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), self.root)
                if name.endswith(".c"):
                    lines.append(f"build {path}.o: cc ../{path}\n")
        shutil.rmtree(build, ignore_errors=True)
        self.write("build/build.ninja", NINJA + "".join(lines))
        subprocess.run(["ninja", "-C", build], check=True, capture_output=True)
        return self.check(build)

    def planted(self, path, text, message, compiled=True):
        with self.subTest(text):
            self.write(path, text)
            status, said = self.built() if compiled else self.check()
            self.assertEqual(status, 1, said)
            self.assertIn(message, said)
            shutil.rmtree(os.path.join(self.root, os.path.dirname(path)))

    def test_clean(self):
        self.write("src/stream/good.c", '#include "base/text.h"\n#include <kymo/kymo.h>\n#include <stdio.h>\n')
        status, said = self.built()
        self.assertEqual(status, 0, said)
        self.assertRegex(said, "layers: 5 files, 2 objects, 0 problems")

    def test_own_headers(self):
        for include in ('#include "core/capture.h"', '#include "../core/capture.h"', "#include <core/capture.h>",
                        '#define X "core/capture.h"\n#include X'):
            self.planted("src/stream/bad.c", include + "\n", "src/stream/bad.c.o: core/capture.h: stream may not use core")

    def test_in_an_inc(self):
        self.write("src/stream/more.inc", '#include "core/capture.h"\n')
        self.planted("src/stream/bad.c", '#include "more.inc"\n', "src/stream/more.inc:1: core/capture.h: stream may not use core")

    def test_private_headers(self):
        self.planted("src/capture/ze/bad.c", '#include "core/ring/ring.h"\n', "core/ring/ring.h: private to core")

    def test_private_headers_are_there(self):
        """A header that was renamed would be private no longer."""
        sys.path.insert(0, os.path.dirname(LAYERS))
        import layers
        for name in layers.PRIVATE:
            self.assertTrue(os.path.exists(os.path.join(ROOT, "src", name)), name)

    def test_vendors(self):
        for header in ("nvml.h", "papi.h", "ittnotify.h", "ompt.h", "zes_api.h", "CL/cl.h"):
            self.planted("src/recorder/bad.c", f"#include <{header}>\n", "vendor headers belong to capture")
            self.planted("src/recorder/bad.c", f'#include "{header}"\n', "vendor headers belong to capture")

    def test_libraries(self):
        self.planted("src/wire/bad.c", '#include "sqlite3.h"\n', "wire may not use sqlite3")

    def test_launch(self):
        """What is compiled into the command line and what runs in programs do not see each other."""
        self.write("src/launch/launch.h", "")
        self.write("src/capture/one/find.h", "")
        self.write("src/capture/one/launch.c", '#include "launch/launch.h"\n#include "capture/one/find.h"\n')
        status, said = self.built()
        self.assertEqual(status, 0, said)
        self.planted("src/capture/two/launch.c", '#include "core/capture.h"\n', "launch may not use core")
        self.planted("src/capture/two/launch.c", '#include "capture/one/find.h"\n', "launch may not use capture")
        self.planted("src/capture/two/door.c", '#include "launch/launch.h"\n', "may not use launch")

    def test_backends(self):
        """No backend includes another, however it does it; a folder in a backend's is its own."""
        self.write("src/capture/one/one.h", "")
        for include in ('#include "capture/one/one.h"', '#include "../one/one.h"', "#include <capture/one/one.h>"):
            self.planted("src/capture/two/bad.c", include + "\n", "capture/two may not use capture/one")
        self.planted("src/capture/two/module/bad.c", '#include "capture/one/one.h"\n', "capture/two may not use capture/one")
        self.write("src/capture/one/module/good.c", '#include "capture/one/one.h"\n')
        status, said = self.built()
        self.assertEqual(status, 0, said)

    def test_shape_of_backends(self):
        """Each has a door, a launcher's side and a README that names its files; a provider a README."""
        self.write("src/capture/backends.list", "# a comment\none one first\none other second\n")
        for name in ("door.c", "launch.c", "work.c"):
            self.write(f"src/capture/one/{name}", "")
        self.write("src/capture/one/README.md", "`door.c`, `launch.c` and `work.c`: libone.so.1\n")
        self.write("src/capture/counts/README.md", "a provider, `counts.c`\n")
        self.write("src/capture/counts/counts.c", "")
        status, said = self.check()
        self.assertEqual(status, 0, said)
        self.write("src/capture/two/layer.c", "")
        self.write("src/capture/one/new.c", "")
        self.write("src/capture/counts/README.md", "a provider, `count.c`\n")
        self.write("src/capture/backends.list", "one one first\ntwo two second\nthree three third\n")
        status, said = self.check()
        self.assertEqual(status, 1, said)
        for wrong in ("src/capture/two: no README.md", "src/capture/two: no door.c", "src/capture/two: no launch.c",
                      "src/capture/three: in backends.list, and no folder",
                      "src/capture/one/README.md: does not say what new.c is for",
                      "src/capture/counts/README.md: does not say what counts.c is for",
                      "src/capture/counts/README.md: there is no count.c"):
            self.assertIn(wrong + "\n", said)

    def test_formats(self):
        self.write("src/formats/raw/raw.h", "")
        self.write("src/formats/format.h", "")
        self.planted("src/formats/csv/bad.c", '#include "formats/raw/raw.h"\n', "formats/csv may not use formats/raw")
        self.write("src/formats/csv/good.c", '#include "formats/format.h"\n')
        status, said = self.built()
        self.assertEqual(status, 0, said)

    def test_circles(self):
        self.write("src/drain/one.h", '#include "drain/two.h"\n')
        self.write("src/drain/two.h", '#include "drain/three.h"\n')
        self.planted("src/drain/three.h", '#include "drain/one.h"\n',
                     "circle of includes: src/drain/one.h -> src/drain/two.h -> src/drain/three.h -> src/drain/one.h", compiled=False)

    def test_explained(self):
        """The tables of docs/architecture.md say what layers.py has."""
        with open(os.path.join(ROOT, "docs", "architecture.md"), encoding="utf-8") as f:
            page = f.read()
        self.write("docs/architecture.md", page)
        self.assertEqual(self.check()[0], 0)
        row = next(line for line in page.splitlines() if line.startswith("| `drain`"))
        for changed, message in ((row.replace("wire", "wire, core"), "drain may use base, core, wire: layers.py has another answer"),
                                 ("", "drain is not in the table of folders")):
            self.write("docs/architecture.md", page.replace(row + "\n", changed + "\n" * bool(changed)))
            status, said = self.check()
            self.assertEqual(status, 1, said)
            self.assertIn(message, said)
        self.write("docs/architecture.md", page)
        self.write("src/core/extra/extra.h", "")
        self.assertIn("extra is not in the table of core's rooms", self.check()[1])

    def test_circles_of_units(self):
        self.write("src/capture/one/a.h", "")
        self.write("src/capture/one/a.c", '#include "capture/one/a.h"\n#include "capture/one/b.h"\n')
        self.write("src/capture/one/b.h", "")
        status, said = self.check()
        self.assertEqual(status, 0, said)
        self.planted("src/capture/one/b.c", '#include "capture/one/b.h"\n#include "capture/one/a.h"\n',
                     "circle of units: src/capture/one/a -> src/capture/one/b -> src/capture/one/a", compiled=False)

    def test_new_folder(self):
        self.planted("src/extra/bad.c", '#include "core/capture.h"\n', "a folder that the table of layers does not have",
                     compiled=False)


if __name__ == "__main__":
    unittest.main()
