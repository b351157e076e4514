# SPDX-License-Identifier: Apache-2.0
"""What tests of foreign annotation interfaces share: build a program, record it, ask the trace."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must, run, skip, wrong  # noqa: E402

SKIPPED = kymotest.SKIPPED


class Test:
    """Methods test_NAME are the tests; main() runs the one that is named."""

    def __init__(self, here, kymo, folder, what=()):
        self.here, self.kymo, self.folder, self.more = here, kymo, folder, list(what)
        self.lib = os.path.join(os.path.dirname(os.path.dirname(kymo)), "lib", "libkymo.so.1")
        self.source = os.path.dirname(os.path.dirname(here))
        self.trace = self.path("t.kymo")

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, out, *arguments, compiler=None):
        words = (compiler or os.environ.get("CC", "cc")).split()
        if not shutil.which(words[0]):
            skip(f"no {words[0]} here")
        must(*words, "-O2", "-g", *arguments, "-o", self.path(out))
        return self.path(out)

    def record(self, *argv, env=None, options=(), plain=True):
        """Runs it without and with Kymo: status and output must be the same. Returns the output."""
        environment = dict(os.environ, **(env or {}))
        before = run(*argv, env=environment) if plain else None
        kymotest.remove(self.trace, missing_ok=True)
        after = run(self.kymo, "run", "--no-summary", "-o", self.trace, *options, "--", *argv,
                    env=environment)
        if before:
            check("status", after.returncode, before.returncode)
            check("output", after.stdout, before.stdout)
        elif after.returncode:
            sys.exit(f"status {after.returncode}\n{after.stdout}{after.stderr}")
        self.stderr = after.stderr
        return after.stdout

    def query(self, sql):
        return json.loads(must(self.kymo, "query", "--format", "json", self.trace, sql))

    def markers(self, where="1"):
        """name: (kind, domain, category, payload) of markers, by name; several make a list."""
        found = {}
        for r in self.query("SELECT name, kind, domain, category, color, payload FROM markers "
                            f"WHERE {where} ORDER BY start"):
            payload = r["payload"]
            if isinstance(payload, str):
                payload = json.loads(payload)
            found.setdefault(r["name"], []).append(
                (r["kind"], r["domain"], r["category"] or "", payload))
        return found

    def notes(self, part):
        return {r["text"]: r["n"] for r in self.query(
            f"SELECT text, sum(count) AS n FROM note WHERE part = '{part}' GROUP BY text")}

    def tree(self):
        """Ranges as "parent/child" with how often each was."""
        rows = self.query("SELECT scope, parent, name, process FROM scopes")
        scopes = {(r["process"], r["scope"]): r for r in rows}
        counts = {}
        for r in rows:
            path, up = r["name"], r
            while up["parent"]:
                up = scopes[(r["process"], up["parent"])]
                path = f"{up['name']}/{path}"
            counts[path] = counts.get(path, 0) + 1
        return counts

    def lost(self):
        return self.query("SELECT sum(lost_records) AS n FROM process")[0]["n"]

    def thread_names(self):
        return {r["name"] for r in self.query("SELECT name FROM threads WHERE name <> ''")}


def main(tests, here):
    kymo, what = sys.argv[1:3]
    with kymotest.Folder() as folder:
        getattr(tests(here, kymo, folder, sys.argv[3:]), "test_" + what)()
    print("wrong: " + ", ".join(wrong) if wrong else f"{what}: all as expected")
    return 1 if wrong else 0
