# SPDX-License-Identifier: Apache-2.0
"""What the tests of readers of SQLite databases share: copies in which something is changed, what kymo shows of them, and
the mistakes that all must bear."""
import json
import os
import re
import shutil
import sqlite3
import tempfile

from kymotest import Run, check, must


def source(path, sql):
    """Rows of a question to the database itself."""
    db = sqlite3.connect(path)
    try:
        return [tuple(row) for row in db.execute(sql)]
    finally:
        db.close()


class Place:
    """A folder with a database, which make() writes."""

    def __init__(self, kymo, folder):
        self.kymo, self.folder = kymo, folder
        self.db = self.make()

    def __call__(self, name):
        return os.path.join(self.folder, name)

    def make(self):
        raise NotImplementedError

    def statement(self, s):
        """As the database of the place has it."""
        return s

    def changed(self, name, *statements):
        """A copy of the database in which something is done."""
        path = self(name)
        shutil.copy(self.db, path)
        db = sqlite3.connect(path)
        for s in statements:
            db.executescript(self.statement(s))
        db.commit()
        db.close()
        return path


class Kymo:
    """What it makes of a database."""

    def __init__(self, kymo):
        self.kymo = kymo

    def query(self, trace, sql):
        """In a query around it no two columns have one name, which JSON has no place for."""
        rows = must(self.kymo, "query", "--format", "json", trace, f"SELECT * FROM ({sql})")
        return [tuple(row.values()) for row in json.loads(rows)]

    def shown(self, path, *words):
        run = Run([self.kymo, "show", *words, path])
        return run.status, sorted(run.out.splitlines()), run.err

    def refused(self, what, path, why):
        status, lines, err = self.shown(path)
        check(f"{what}: status", status != 0, True)
        check(f"{what}: nothing is shown", lines, [])
        check(f"{what}: {err.strip()}", why in err, True)

    def same(self, what, at, ours, theirs):
        """The rows of a question to the trace are those of one to the database."""
        wanted = source(at.db, theirs)
        check(f"{what}: there are some", bool(wanted), True)
        check(what, sorted(self.query(at.trace, ours), key=repr), sorted(wanted, key=repr))


# ---- mistakes ----------------------------------------------------------------------------------

def refused_beside_a_log(kymo, at, name, log):
    """What a writer has not brought into the file yet would be missed."""
    shutil.copy(at.db, at(name))
    with open(at(name + log), "wb") as f:
        f.write(b"x")
    kymo.refused("a log beside it", at(name), log)


def bears_hostile_objects(kymo, at, name, records, other, endless, *more):
    """Triggers, views that never end, defaults and indexes: nothing of it is executed, and nothing written."""
    wanted = kymo.shown(at.db)[1]
    path = at.changed(name, f"CREATE TRIGGER t BEFORE INSERT ON {records} BEGIN DELETE FROM {other}; END",
                      f"CREATE VIEW {endless} AS WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i FROM x) SELECT i AS start, i AS end, "
                      "i AS globalTid, i AS nameId FROM x",
                      "CREATE TABLE strange(x DEFAULT (randomblob(1000000000)))", f"CREATE INDEX i ON {records}(start)", *more)
    before = os.stat(path)
    check("hostile objects", kymo.shown(path)[:2], (0, wanted))
    after = os.stat(path)
    check("it is left as it was", (before.st_mtime_ns, before.st_size), (after.st_mtime_ns, after.st_size))
    return path


class Losses:
    """Databases with wrong values, of which records are lost and told."""

    def __init__(self, kymo, at):
        self.kymo, self.at = kymo, at
        _, self.wanted, self.before, _ = self.counted(at.db)

    def counted(self, path):
        """Records, and how many are lost."""
        status, lines, err = self.kymo.shown(path)
        lost = [int(n) for line in lines for n in re.findall(r"\*\*\* (\d+) records? of process", line)]
        return status, len(lines) - len(lost), sum(lost), err

    def differ(self, name, less, words, *statements):
        status, lines, lost, err = self.counted(self.at.changed(name, *statements))
        check(f"{name}: {err}", (status, self.wanted - lines, lost - self.before, words in err), (0, less, less, True))

    def none(self, path):
        check("numbers out of range", self.counted(path)[:3], (0, self.wanted, self.before))
        check("and written", Run([self.kymo.kymo, "export", "--to", "json", "-f", "-o", self.at("x.json"), path]).status, 0)


def told_when_cut(kymo, at, name, pieces):
    """Of each length something is said, and of some a part is read."""
    with open(at.db, "rb") as f:
        data = f.read()
    told = 0
    for n in list(range(0, len(data), len(data) // pieces)) + [15, 16, 99, 100, 101, len(data) - 1]:
        with open(at(name), "wb") as f:
            f.write(data[:n])
        status, _, err = kymo.shown(at(name))
        check(f"cut to {n}: {status} {err}", status in (0, 3, 4) or "kymo: error" in err, True)
        check(f"cut to {n}: something is said", "error" in err or "damaged" in err, True)
        told += "damaged" in err
    check("parts are read", told > 5, True)
    return data


def run_tests(tests, place, names):
    """All test_NAME() of a module, or the named ones, each in a place of its own."""
    for name, test in sorted(tests.items()):
        if name.startswith("test_") and name[5:] in (names or [name[5:]]):
            with tempfile.TemporaryDirectory() as folder:
                test(place(folder))
