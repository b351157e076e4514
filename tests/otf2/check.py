#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads an OTF2 archive with the library's own Python binding, checks what must hold of it, and prints
what is in it as JSON: counts, bytes and times that a test compares with what Kymo says.

    check.py ARCHIVE.otf2
"""
import collections
import json
import sys

import otf2
from otf2.enums import LocationType

P = "OTF2::KYMO::OFFLOAD::"
UNTIMED, UNFINISHED = 4, 8
BARRIERS = {"STREAM SYNC": "BARRIER", "IMPLICIT SYNC": "IMPLICIT_BARRIER"}


def name_of(value):
    """Of an enumeration's value: the binding has no more than its text."""
    return str(value).rsplit(".", 1)[-1]


class Location:
    def __init__(self, location):
        self.location = location
        self.open = []         # region, time, attributes
        self.transfers = {}    # window and id: bytes
        self.last = 0
        self.measuring = True


class Check:
    def __init__(self):
        self.locations = {}
        self.problems = []
        self.submitted = collections.defaultdict(set)   # by process group: ids
        self.executed = collections.defaultdict(set)
        self.calls = collections.Counter()
        self.device = collections.Counter()             # region name: executions
        self.busy = collections.Counter()
        self.bytes = collections.Counter()
        self.events = collections.Counter()
        self.sent = collections.Counter()
        self.barriers = []
        self.requests = {}
        self.kinds = collections.Counter()              # of memory that copies read and write
        self.window_locks = collections.Counter()       # by kind and window
        self.matches = collections.Counter()            # messages sent and not received, by everything
        self.teams = collections.Counter()
        self.locks = {}
        self.metric_last = {}
        self.sampled = collections.Counter()            # by innermost function
        self.values = collections.defaultdict(lambda: [0, 0.0])  # by metric and what it is of: number, sum
        self.parameters = collections.defaultdict(lambda: [0, 0])
        self.paths = 0                                  # calls that say where they were made
        self.modes = collections.Counter()              # submission modes as they are known at the end
        self.times = [None, 0]
        self.untimed = self.unfinished = 0

    def problem(self, where, text):
        if len(self.problems) < 20:
            self.problems.append(f"{where.location.name}: {text}")

    # ---- intervals

    def enter(self, l, e, attributes):
        l.open.append((e.region, e.time, attributes))

    def leave(self, l, e, attributes):
        if not l.open:
            return self.problem(l, f"leaves {e.region.name} that it is not in")
        region, start, entered = l.open.pop()
        if region != e.region:
            return self.problem(l, f"leaves {e.region.name} while in {region.name}")
        if l.location.type == LocationType.ACCELERATOR_STREAM:
            self.work(l, region, start, e.time, entered)
        else:
            self.calls[region.name] += 1
            if region.description != "host":
                self.problem(l, f"{region.name} is of the {region.description}")
            if P + "SUBMISSION_MODE" in entered:
                self.submitted[l.location.group].add(entered[P + "CORRELATION_ID"])
                self.modes[attributes.get(P + "SUBMISSION_MODE", entered[P + "SUBMISSION_MODE"])] += 1
            for what in ("SENT", "RECEIVED"):
                self.bytes["told " + what] += attributes.get("OTF2::KYMO::" + what, 0)
            if "OTF2::KYMO::CALL_PATH" in entered:
                self.paths += 1
                self.path(l, entered["OTF2::KYMO::CALL_PATH"])

    def path(self, l, context):
        depth = 0
        while context is not None:
            depth += 1
            if depth > 10000 or not context.region.name:
                return self.problem(l, "a call path without an end or names")
            context = context.parent

    def parameter(self, l, e, kind):
        if not l.open or l.open[-1][1] != e.time:
            self.problem(l, f"parameter {e.parameter.name} does not belong to what was just entered")
        got = self.parameters[e.parameter.name]
        got[0] += 1
        got[1] += e.value if kind != "ParameterString" else 0

    def metric(self, e):
        instance = hasattr(e.metric, "metric_class")
        members = e.metric.metric_class.members if instance else e.metric.members
        of = e.metric.scope.name if instance else ""
        for member, value in zip(members, e.values if hasattr(e, "values") else [e.value]):
            self.metric_last[member.name] = value
            got = self.values[f"{member.name} of {of}"]
            got[0] += 1
            got[1] += value

    def work(self, l, region, start, end, attributes):
        if region.description != "device":
            self.problem(l, f"{region.name} is of the {region.description}")
        if l.open:
            self.problem(l, f"{region.name} lies within {l.open[-1][0].name}")
        flags = attributes.get(P + "FLAGS", 0)
        if region.name in BARRIERS:
            self.barriers.append((region.name, start, end, attributes[P + "SYNC_COUNT"]))
            if end <= start or name_of(region.region_role) != BARRIERS[region.name]:
                self.problem(l, "a barrier without time, or of another role")
            return
        if flags & UNFINISHED:
            self.unfinished += 1
            return
        for name in ("SOURCE_KIND", "DESTINATION_KIND"):
            if P + name in attributes:
                self.kinds[f"{name} {attributes[P + name]}"] += 1
        kind = "copy" if name_of(region.region_role) == "DATA_TRANSFER" else "kernel"
        self.device[f"{kind} {region.name}"] += 1
        if flags & UNTIMED:
            self.untimed += 1
        self.busy[kind] += end - start
        self.bytes["device"] += attributes.get(P + "BYTES", 0)
        if P + "CORRELATION_ID" in attributes:
            owner = l.location.group.creating_location_group
            if owner is None:
                self.problem(l, "a device group without its process")
            self.executed[owner].add(attributes[P + "CORRELATION_ID"])

    # ---- transfers and messages

    def rma(self, l, e, got):
        key = (e.win, e.matching_id)
        if key in l.transfers:
            self.problem(l, f"transfer {e.matching_id} begins twice")
        l.transfers[key] = e.bytes
        if l.location.type == LocationType.ACCELERATOR_STREAM:
            self.bytes["device"] += e.bytes
            self.bytes["to device" if got else "from device"] += e.bytes
            for end in ("SOURCE", "DESTINATION"):
                if f"OTF2::MEMORY_SPACE_{end}" not in self.attributes:
                    self.problem(l, "a transfer without its memories")
        else:
            self.bytes["got" if got else "put"] += e.bytes

    def complete(self, l, e):
        if l.transfers.pop((e.win, e.matching_id), None) is None:
            self.problem(l, f"transfer {e.matching_id} ends without having begun")

    def request(self, l, number, begins):
        key = (l.location.group, number)
        if begins:
            self.requests[key] = self.requests.get(key, 0) + 1
        elif self.requests.get(key, 0) <= 0:
            self.problem(l, f"request {number} ends without having begun")
        else:
            self.requests[key] -= 1

    # ---- events

    def event(self, location, e):
        l = self.locations.setdefault(location, None) or Location(location)
        self.locations[location] = l
        kind = type(e).__name__
        attributes = {a.name: v for a, v in (e.attributes or {}).items()}
        self.attributes = attributes
        self.events[kind] += 1
        if e.time < l.last:
            self.problem(l, f"time goes back by {l.last - e.time}")
        l.last = e.time
        self.times = [e.time if self.times[0] is None else min(self.times[0], e.time), max(self.times[1], e.time)]
        if kind == "Enter":
            self.enter(l, e, attributes)
        elif kind == "Leave":
            self.leave(l, e, attributes)
        elif kind in ("RmaGet", "RmaPut"):
            self.rma(l, e, kind == "RmaGet")
        elif kind == "RmaAtomic":
            l.transfers[(e.win, e.matching_id)] = e.bytes_sent
        elif kind == "RmaOpCompleteBlocking":
            self.complete(l, e)
        elif kind in ("MpiSend", "MpiIsend"):
            self.sent[(e.communicator.name, "sent")] += e.msg_length
            self.message(l, e, e.receiver, True)
            if kind == "MpiIsend":
                self.request(l, e.request_id, True)
        elif kind in ("MpiRecv", "MpiIrecv"):
            self.sent[(e.communicator.name, "received")] += e.msg_length
            self.message(l, e, e.sender, False)
            if kind == "MpiIrecv":
                self.request(l, e.request_id, False)
        elif kind in ("MpiIrecvRequest", "NonBlockingCollectiveRequest"):
            self.request(l, e.request_id, True)
        elif kind in ("MpiIsendComplete", "NonBlockingCollectiveComplete", "MpiRequestCancelled"):
            self.request(l, e.request_id, False)
        elif kind == "RmaCollectiveBegin":
            self.teams[(location, "fence")] += 1
        elif kind == "RmaCollectiveEnd":
            self.pair(l, "fence")
        elif kind in ("RmaAcquireLock", "RmaReleaseLock"):
            held = (location, "lock of a window", e.win, e.remote)
            if kind == "RmaAcquireLock":
                self.window_locks[f"{name_of(e.lock_type)} of {e.win._ref}"] += 1
            self.teams[held] += 1 if kind == "RmaAcquireLock" else -1
            if self.teams[held] < 0:
                self.problem(l, "a lock of a window is released that is not held")
        elif kind == "MpiCollectiveBegin":
            self.teams[(location, "collective")] += 1
        elif kind == "MpiCollectiveEnd":
            self.bytes["collective"] += e.size_sent + e.size_received
            self.pair(l, "collective")
        elif kind in ("ThreadFork", "ThreadTeamBegin"):
            self.teams[(location, kind.replace("Fork", "").replace("Begin", ""))] += 1
        elif kind in ("ThreadJoin", "ThreadTeamEnd"):
            self.pair(l, kind.replace("Join", "").replace("End", ""))
        elif kind == "Metric":
            self.metric(e)
        elif kind == "CallingContextSample":
            self.path(l, e.calling_context)
            self.sampled[e.calling_context.region.name] += attributes.get("OTF2::KYMO::SAMPLES", 1)
        elif kind.startswith("Parameter"):
            self.parameter(l, e, kind)

    def message(self, l, e, rank, sends):
        members = e.communicator.group.members
        if rank >= len(members):
            return self.problem(l, f"rank {rank} is not in {e.communicator.name}")
        own = [i for i, m in enumerate(members) if m.group == l.location.group]
        if not own:
            return self.problem(l, f"is not in {e.communicator.name}")
        ends = (own[0], rank) if sends else (rank, own[0])
        self.matches[(e.communicator, *ends, e.msg_tag, e.msg_length)] += 1 if sends else -1

    def pair(self, l, what):
        self.teams[(l.location, what)] -= 1
        if self.teams[(l.location, what)] < 0:
            self.problem(l, f"{what} ends without having begun")

    def groups(self, definitions):
        """OTF2 3.0: what kinds of locations groups of each type have to have, and must not have."""
        wanted = {"PROCESS": "CPU_THREAD", "ACCELERATOR": "ACCELERATOR_STREAM"}
        found = collections.defaultdict(set)
        for location in definitions.locations:
            stream = location.type == LocationType.ACCELERATOR_STREAM  # which the binding calls GPU
            found[location.group].add("ACCELERATOR_STREAM" if stream else name_of(location.type))
        for g in definitions.location_groups:
            kinds = found[g] - {"METRIC"}
            if kinds != {wanted[name_of(g.location_group_type)]}:
                self.problems.append(f"{g.name}: a group of {name_of(g.location_group_type)} has {sorted(kinds)}")

    def clock(self, clock):
        if self.times[0] is None:
            return
        if clock.timer_resolution != 10 ** 9 or self.times[0] < clock.global_offset or \
                self.times[1] > clock.global_offset + clock.trace_length:
            self.problems.append(f"events at {self.times} are not within the clock's {clock.global_offset}, "
                                 f"{clock.trace_length}")

    def end(self):
        for l in self.locations.values():
            for region, _, _ in l.open:
                self.problem(l, f"{region.name} is never left")
            for _, number in l.transfers:
                self.problem(l, f"transfer {number} never ends")
        for (location, what, *_), n in self.teams.items():
            if n:
                self.problems.append(f"{location.name}: {n} times {what} begins without an end")
        self.orphans = sum(len(ids - self.submitted[group])
                           for group, ids in self.executed.items())


def main():
    check = Check()
    with otf2.reader.open(sys.argv[1]) as trace:
        for location, event in trace.events:
            check.event(location, event)
        check.end()
        groups = [g for g in trace.definitions.location_groups]
        for g in groups:
            if name_of(g.location_group_type) == "ACCELERATOR" and g.creating_location_group is None:
                check.problems.append(f"{g.name}: no process has made it")
        check.groups(trace.definitions)
        check.clock(trace.definitions.clock_properties)
        result = {
            "locations": len(trace.definitions.locations),
            "groups": sorted(g.name for g in groups),
            "accelerators": sum(name_of(g.location_group_type) == "ACCELERATOR" for g in groups),
            "processes": sum(name_of(g.location_group_type) == "PROCESS" for g in groups),
            "roles": {r.name: name_of(r.region_role) for r in trace.definitions.regions},
            "calls": check.calls, "device": check.device, "busy": check.busy,
            "bytes": check.bytes, "events": check.events, "orphans": check.orphans,
            "messages": {f"{c} {w}": n for (c, w), n in check.sent.items()},
            "barriers": len(check.barriers), "implied": sum(b[0] == "IMPLICIT SYNC" for b in check.barriers),
            "sampled": check.sampled, "values": check.values, "parameters": check.parameters, "paths": check.paths, "modes": check.modes, "waits": sum(b[3] for b in check.barriers),
            "submitted": sum(map(len, check.submitted.values())),
            "window locks": check.window_locks, "kinds": check.kinds, "unmatched": sum(map(abs, check.matches.values())), "open requests": sum(check.requests.values()),
            "untimed": check.untimed, "unfinished": check.unfinished,
            "metrics": check.metric_last, "problems": check.problems}
    json.dump(result, sys.stdout, indent=1)
    print()
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
