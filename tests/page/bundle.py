#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether src/page/web/dist is what its sources make: bundle.py. Skipped where npm or its registry is not there.

The lock file must name no registry: it would be that of whoever wrote it.
"""
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
from kymotest import Failure, expect, run, skip  # noqa: E402

WEB = os.path.join(HERE, "..", "..", "src", "page", "web")


def main():
    with open(os.path.join(WEB, "package-lock.json"), encoding="utf-8") as f:
        packages = json.load(f)["packages"]
    expect(not [p for p in packages.values() if "resolved" in p], "package-lock.json names a registry")
    expect(all("integrity" in p for name, p in packages.items() if name), "package-lock.json: a package without its hash")
    if not shutil.which("npm") or not shutil.which("node"):
        skip("no npm")
    with tempfile.TemporaryDirectory(prefix="kymo-test-") as folder:
        copy = os.path.join(folder, "web")
        shutil.copytree(WEB, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
        got = run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=copy)
        if got.returncode:
            skip(f"npm ci: {got.stderr.strip().splitlines()[-1:]}")
        made = run("node", "build.mjs", cwd=copy)
        expect(made.returncode == 0, made.stderr)
        for name in ("page.js", "page.css", "NOTICE.txt"):
            with open(os.path.join(copy, "dist", name), "rb") as f, open(os.path.join(WEB, "dist", name), "rb") as g:
                expect(f.read() == g.read(), f"dist/{name} is not what the sources make: npm run build in src/page/web")


try:
    main()
except Failure as e:
    sys.exit(str(e))
