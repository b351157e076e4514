# SPDX-License-Identifier: Apache-2.0
"""What the records of a JSON document refer to, by the record model."""

import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "gen"))
import records  # noqa: E402: the model's reader

LISTS = {"agent": "agents", "queue": "queues", "kernel": "kernels", "program": "programs",
         "device_context": "contexts", "blob": "blobs", "string": "strings", "communicator": "communicators",
         "counter": "counters", "code": "codes", "place": "places", "stack": "stacks", "thread": "threads"}


def of_model():
    """By domain and op: the fields that are references, and the list of each."""
    model = records.read(os.path.join(ROOT, "model"))
    return {(d.name, op[0]): {f.name: LISTS[f.of] for f in model.layouts[op[2]].fields
                              if f.kind == "REF" and f.of != "call"} for d in model.domains for op in d.ops}


def check(document):
    """Problems of a document, and how often each (op, field) referred to something."""
    trace, problems, met = document["trace"], [], {}
    fields = of_model()
    said = {(r["domain"], r["op"]): r["args"] for r in trace["references"]}
    for key in fields:
        if key in said and said[key] != fields[key]:
            problems.append(f"{key}: the document says {said[key]}, the model {fields[key]}")
    for record in document["records"]:
        if "args" not in record and (record.get("domain"), record.get("op")) in said:
            problems.append(f"{record}: the document tells of args that it has not")
        values = record.get("args") or {k: v for k, v in record.items() if isinstance(v, int)}
        process = trace["threads"][record["thread"]]["process"]
        for field, where in fields.get((record.get("domain"), record.get("op")), {}).items():
            index = values.get(field, 0)
            if not index:
                continue
            target = trace[where][index] if 0 < index < len(trace[where]) else None
            if target is None:
                problems.append(f"{record}: {field} is no index of {where}")
            elif isinstance(target, dict) and target.get("process", process) != process:
                problems.append(f"{record} of process {process}: {field} is {target}")
            key = record["op"], field
            met[key] = met.get(key, 0) + 1
    return problems, met
