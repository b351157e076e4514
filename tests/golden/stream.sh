#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares what kymo makes of the synthetic demo trace with the expected files in golden/stream.
# Usage: stream.sh KYMO SYNTH EXPECTED [--update]
set -eu
kymo=$1 synth=$2 expected=$3 update=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TZ=UTC
cd "$work"
"$synth" demo demo.kymo
"$synth" demo packed.kymo z

mkdir out
"$kymo" show demo.kymo > out/show.txt
"$kymo" show --order recorded demo.kymo > out/recorded.txt
"$kymo" show --entry-exit demo.kymo > out/entry-exit.txt
"$kymo" show --kernel '^step' demo.kymo > out/kernel.txt
"$kymo" show --domain copy,sync --after 150us demo.kymo > out/domains.txt
"$kymo" show --include 'test:(open|wait)' --exclude wait --thread 4242 demo.kymo > out/include.txt
"$kymo" show --limit 2 --process 5151 demo.kymo > out/limit.txt
"$kymo" show --min-duration 100us demo.kymo > out/long.txt
"$kymo" info demo.kymo > out/info.txt
"$kymo" export --to json -o out/demo.json demo.kymo 2> export.log
"$kymo" export --to csv -o out/csv demo.kymo 2>> export.log
sed -i 's/"version":"[^"]*"},$/"version":"X"},/' out/demo.json

# What is exported as text is what is shown.
"$kymo" export --to text -o text.txt demo.kymo 2>> export.log
cmp text.txt out/show.txt
# The same trace, compressed, is the same trace.
"$kymo" show packed.kymo > packed.txt
cmp packed.txt out/show.txt
# Every record is there in either order.
sort out/show.txt > a; sort out/recorded.txt > b
cmp a b
python3 - out/demo.json out/csv <<'PYTHON'
import csv, json, os, sys
with open(sys.argv[1], encoding="utf-8") as f:
    doc = json.load(f)
kinds = {}
for r in doc["records"]:
    kinds[r["kind"]] = kinds.get(r["kind"], 0) + 1
names = {"call": "calls", "dispatch": "dispatches", "copy": "copies", "sync": "syncs",
         "allocation": "allocations", "other": "others", "loss": "losses"}
for kind, name in names.items():
    with open(os.path.join(sys.argv[2], name + ".csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f, strict=True))
    assert all(len(r) == len(rows[0]) for r in rows), f"{name}: rows of unequal length"
    assert len(rows) - 1 == kinds[kind], f"{name}: {len(rows) - 1} rows, {kinds[kind]} in JSON"
PYTHON

if [ "$update" = --update ]; then
	rm -rf "$expected"
	cp -r out "$expected"
	echo "updated $expected"
	exit 0
fi
diff -r -u "$expected" out && echo "golden: equal"
