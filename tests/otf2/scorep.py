#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An archive as Score-P writes it, by OTF2's Python binding, and what is in it as JSON: two ranks, each with
two devices of two streams, launches tied to their kernels by call path; MPI; OpenMP; metrics of all kinds.

    scorep.py FOLDER [contexts | others]
"""
import json
import sys

import otf2
from otf2.enums import (Base, GroupType, InterruptGeneratorMode, IoHandleFlag, IoParadigmClass, IoParadigmFlag,
                        LocationGroupType, LocationType, MeasurementMode, MetricMode, Paradigm, ParameterType,
                        RegionRole, SystemTreeDomain, Type)

TICKS = 1000000  # a second
ROUNDS = 5


class Archive:
    def __init__(self, trace):
        self.trace, self.d = trace, trace.definitions
        self.found = dict.fromkeys(("calls", "ranges", "kernels", "kernel_us", "writes", "reads", "written", "read",
                                    "sends", "sent", "receives", "received", "collectives", "puts", "values",
                                    "barriers"), 0)
        self.root = self.d.system_tree_node("cluster", class_name="machine")
        self.node = self.d.system_tree_node("n1", class_name="node", parent=self.root)
        self.devices = [self.device(i) for i in range(2)]
        self.ranks = [self.process(i) for i in range(2)]
        self.regions()
        self.communicators()
        self.parameters()
        self.metrics()

    def lane(self, name, kind, group):
        location = self.d.location(name, kind, group=group)
        writer = self.trace.event_writer_from_location(location)
        writer.place = location
        return writer

    def device(self, number):
        node = self.d.system_tree_node("CUDA Device %d" % number, class_name="device", parent=self.node)
        self.d.system_tree_node_domain(node, SystemTreeDomain.ACCELERATOR_DEVICE)
        self.d.system_tree_node_property(node, "UUID", value="%032x" % (number + 1))
        return node

    def process(self, rank):
        group = self.d.location_group("MPI Rank %d" % rank, system_tree_parent=self.node)
        threads = [self.lane(name, LocationType.CPU_THREAD, group) for name in ("Master thread", "OMP thread 1")]
        streams = []
        for device in range(2):
            context = self.d.location_group("CUDA Context %d" % device, LocationGroupType.ACCELERATOR,
                                            self.devices[device], group)
            for number in (7, 8):
                streams.append(self.lane("CUDA[%d:%d]" % (device, number), LocationType.ACCELERATOR_STREAM, context))
        return group, threads, streams

    def regions(self):
        def region(name, paradigm, role=RegionRole.FUNCTION):
            return self.d.region(name, paradigm=paradigm, region_role=role)
        self.main = region("main", Paradigm.COMPILER)
        self.phase = region("solve", Paradigm.USER, RegionRole.CODE)
        self.launch = region("cudaLaunchKernel", Paradigm.CUDA, RegionRole.WRAPPER)
        self.kernel = [region("stencil(float*)", Paradigm.CUDA), region("reduce", Paradigm.CUDA)]
        self.idle = region("GPU IDLE", Paradigm.CUDA, RegionRole.ARTIFICIAL)
        self.send = region("MPI_Send", Paradigm.MPI, RegionRole.POINT2POINT)
        self.recv = region("MPI_Recv", Paradigm.MPI, RegionRole.POINT2POINT)
        self.isend = region("MPI_Isend", Paradigm.MPI, RegionRole.POINT2POINT)
        self.wait = region("MPI_Wait", Paradigm.MPI, RegionRole.POINT2POINT)
        self.bcast = region("MPI_Bcast", Paradigm.MPI, RegionRole.COLL_ONE2ALL)
        self.put = region("MPI_Put", Paradigm.MPI, RegionRole.RMA)
        self.parallel = region("!$omp parallel @heat.c:12", Paradigm.OPENMP, RegionRole.PARALLEL)

    def communicators(self):
        masters = [threads[0].place for _, threads, _ in self.ranks]
        group = self.d.group("MPI ranks", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=masters)
        world = self.d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=masters)
        turned = self.d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=masters[::-1])
        self.world = self.d.comm("MPI_COMM_WORLD", group=world)
        self.turned = self.d.comm("turned", group=turned, parent=self.world)
        self.window = self.d.rma_win("MPI window", comm=self.world)
        everyone = [w.place for _, threads, streams in self.ranks for w in [threads[0], *streams]]
        self.d.group("CUDA", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.CUDA, members=everyone)
        self.cuda = []
        for _, threads, streams in self.ranks:
            part = self.d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.CUDA,
                                members=[w.place for w in [threads[0], *streams]])
            self.cuda.append(self.d.rma_win("CUDA_WINDOW", comm=self.d.comm("CUDA", group=part)))
        assert group

    def parameters(self):
        self.site = self.d.parameter("callsite id", ParameterType.UINT64)
        self.step = self.d.parameter("step", ParameterType.INT64)
        self.label = self.d.parameter("label", ParameterType.STRING)

    def metrics(self):
        self.flops = self.d.metric("PAPI_FP_OPS", metric_mode=MetricMode.ACCUMULATED_START, value_type=Type.UINT64)
        self.memory = self.d.metric("CUDA memory", metric_mode=MetricMode.ABSOLUTE_NEXT, value_type=Type.UINT64,
                                    unit="bytes")
        self.power = self.d.metric("power", metric_mode=MetricMode.RELATIVE_LAST, value_type=Type.DOUBLE, unit="J")

    # what happens

    def call(self, w, t, region, length, *inside):
        """`inside`: functions of the writer, each with its delay and its arguments."""
        w.enter(t, region)
        for name, delay, *words in inside:
            getattr(w, name)(t + delay, *words)
        w.leave(t + length, region)
        self.found["calls"] += 1

    def launch_kernel(self, rank, t, number):
        _, (master, _), streams = self.ranks[rank]
        stream, kernel = streams[number % 4], self.kernel[number % 2]
        self.call(master, t, self.launch, 5, ("parameter_unsigned_int", 0, self.site, 1000 + number % 4))
        return stream, kernel, number

    def run_kernel(self, t, stream, kernel, number):
        stream.enter(t, kernel)
        stream.parameter_unsigned_int(t, self.site, 1000 + number % 4)
        stream.leave(t + 20 + number, kernel)
        self.found["kernels"] += 1
        self.found["kernel_us"] += 20 + number

    def copy(self, rank, t, stream, to_device, size):
        (stream.rma_get if to_device else stream.rma_put)(t, self.cuda[rank], 0, size, 42)
        stream.rma_op_complete_blocking(t + 10, self.cuda[rank], 42)
        what = ("writes", "written") if to_device else ("reads", "read")
        self.found[what[0]] += 1
        self.found[what[1]] += size

    def device_work(self, rank, t, number):
        stream, kernel, number = self.launch_kernel(rank, t, number)
        self.copy(rank, t + 6, stream, True, 1000 + number)
        self.run_kernel(t + 20, stream, kernel, number)
        self.copy(rank, t + 60, stream, False, 500 + number)

    def message(self, t, size, comm, ranks):
        """From the first of the two to the second, of MPI_COMM_WORLD; `ranks` as the communicator has them."""
        first, second = self.ranks[0][1][0], self.ranks[1][1][0]
        self.call(first, t, self.send, 10, ("mpi_send", 1, ranks[1], comm, 5, size))
        self.call(second, t, self.recv, 10, ("mpi_recv", 9, ranks[0], comm, 5, size))
        for what, n in (("sends", 1), ("sent", size), ("receives", 1), ("received", size)):
            self.found[what] += n

    def others(self, t):
        for rank in range(2):
            _, (master, worker), streams = self.ranks[rank]
            self.call(master, t, self.bcast, 10, ("mpi_collective_begin", 1),
                      ("mpi_collective_end", 9, otf2.CollectiveOp.BCAST, self.world, 0, 64, 64))
            self.found["collectives"] += 1
            self.call(master, t + 20, self.parallel, 10, ("thread_fork", 1, Paradigm.OPENMP, 2),
                      ("thread_join", 9, Paradigm.OPENMP))
            self.call(worker, t + 21, self.parallel, 8)
            streams[0].enter(t + 5, self.idle)
            streams[0].leave(t + 8, self.idle)
        first = self.ranks[0][1][0]
        self.call(first, t + 40, self.isend, 2, ("mpi_isend", 1, 1, self.world, 6, 77, 900))
        self.call(first, t + 44, self.wait, 2, ("mpi_isend_complete", 1, 900))
        self.found["sends"] += 1
        self.found["sent"] += 77
        self.call(first, t + 50, self.put, 4, ("rma_put", 1, self.window, 1, 333, 3),
                  ("rma_op_complete_non_blocking", 3, self.window, 3))
        self.found["puts"] += 1
        for i in range(3):
            first.metric(t + 60 + i, self.flops, 100 * (i + 1))
            first.metric(t + 60 + i, self.memory, 4096 * (i + 1))
            first.metric(t + 60 + i, self.power, 1.5)
            self.found["values"] += 3

    def run(self):
        for rank, (_, threads, _) in enumerate(self.ranks):
            threads[0].program_begin(1000, "/opt/heat", ["-n", "two words"])
            threads[0].enter(1000, self.main)
            threads[0].parameter_int(1000, self.step, -7)
            threads[0].parameter_string(1000, self.label, "rank %d" % rank)
            threads[0].enter(1001, self.phase)
        for i in range(ROUNDS):
            for rank in range(2):
                self.device_work(rank, 2000 + 1000 * i + 10 * rank, i)
            self.message(2500 + 1000 * i, 10 + i, self.world, (0, 1))
            self.message(2600 + 1000 * i, 20 + i, self.turned, (1, 0))
        self.others(9000)
        for _, threads, _ in self.ranks:
            threads[0].measurement_on_off(9500, MeasurementMode.OFF)
            threads[0].measurement_on_off(9700, MeasurementMode.ON)
            threads[0].leave(9900, self.phase)
            threads[0].leave(10000, self.main)
            threads[0].program_end(10000, 3)
            self.found["ranges"] += 1
            self.found["calls"] += 1


def contexts(trace):
    """Calls by calling contexts, as a sampling measurement with wrapped functions has them."""
    d = trace.definitions
    node = d.system_tree_node("n1", class_name="node")
    w = trace.event_writer("main", group=d.location_group("process", system_tree_parent=node))
    outer = d.calling_context(d.region("main", paradigm=Paradigm.COMPILER), parent=None)
    line = d.source_code_location("work.c", 42)
    inner = d.calling_context(d.region("work", paradigm=Paradigm.COMPILER), source_code_location=line, parent=outer)
    generator = d.interrupt_generator("time", interrupt_generator_mode=InterruptGeneratorMode.TIME, base=Base.DECIMAL,
                                      exponent=-6, period=1000)
    w.calling_context_enter(10, outer, 1)
    for i in range(4):
        w.calling_context_enter(20 + 10 * i, inner, 1)
        w.calling_context_sample(22 + 10 * i, inner, 1, generator)
        w.calling_context_leave(25 + 10 * i, inner)
    w.calling_context_leave(100, outer)
    return {"calls": 5, "samples": 4}


def others(trace):
    """One of each kind of event that has no place in Kymo's traces; how many there are by what they are counted as."""
    d = trace.definitions
    node = d.system_tree_node("n1", class_name="node")
    w = trace.event_writer("main", group=d.location_group("process", system_tree_parent=node))
    place = list(d.locations)[0]
    all_of_it = d.group("MPI ranks", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=[place])
    group = d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=[place])
    comm = d.comm("MPI_COMM_WORLD", group=group)
    win = d.rma_win("window", comm=comm)
    paradigm = d.io_paradigm("POSIX", "POSIX I/O", IoParadigmClass.SERIAL, IoParadigmFlag.OS)
    file = d.io_regular_file("data", node)
    one, two = (d.io_handle(n, file, paradigm, IoHandleFlag.NONE, comm) for n in ("one", "two"))
    level, lock = otf2.RmaSyncLevel.PROCESS, otf2.LockType.EXCLUSIVE
    kinds = {
        "windows and communicators": [("comm_create", comm), ("comm_destroy", comm), ("rma_win_create", win),
                                      ("rma_win_destroy", win)],
        "synchronisation of windows": [
            ("rma_collective_begin",), ("rma_collective_end", otf2.CollectiveOp.BARRIER, level, win, 0, 0, 0),
            ("rma_group_sync", level, win, group), ("rma_request_lock", win, 0, 1, lock),
            ("rma_acquire_lock", win, 0, 1, lock), ("rma_try_lock", win, 0, 1, lock), ("rma_release_lock", win, 0, 1),
            ("rma_sync", win, 0, otf2.RmaSyncType.MEMORY), ("rma_wait_change", win), ("rma_op_complete_remote", win, 1)],
        "tests of requests": [("mpi_request_test", 1), ("rma_op_test", win, 1)],
        "ends of threads": [("omp_task_complete", 1), ("omp_join",), ("thread_join", Paradigm.OPENMP),
                            ("thread_team_end", comm), ("thread_task_complete", comm, 0, 1), ("thread_end", comm, 1)],
        "threads that are made": [("thread_team_begin", comm), ("thread_create", comm, 1), ("thread_begin", comm, 1),
                                  ("thread_wait", comm, 1)],
        "files that are opened": [
            ("io_create_handle", one, otf2.IoAccessMode.READ_ONLY, otf2.IoCreationFlag.NONE, otf2.IoStatusFlag.NONE),
            ("io_destroy_handle", one), ("io_duplicate_handle", one, two, otf2.IoStatusFlag.NONE),
            ("io_seek", one, 1, otf2.IoSeekOption.FROM_START, 1), ("io_change_status_flags", one, otf2.IoStatusFlag.NONE),
            ("io_delete_file", paradigm, file)],
        "operations on files": [("io_operation_test", one, 1), ("io_operation_issued", one, 1),
                                ("io_operation_cancelled", one, 1)],
        "locks of files": [("io_acquire_lock", one, lock), ("io_release_lock", one, lock), ("io_try_lock", one, lock)],
    }
    t = 0
    for calls in kinds.values():
        for name, *words in calls:
            t += 1
            getattr(w, name)(t, *words)
    assert all_of_it
    return {what: len(calls) for what, calls in kinds.items()}


def messages(trace):
    """Only what two ranks send, from their begin to their end."""
    archive = Archive(trace)
    for _, threads, _ in archive.ranks:
        threads[0].program_begin(1000, "/opt/heat", [])
    for i in range(ROUNDS):
        archive.message(2500 + 1000 * i, 10 + i, archive.world, (0, 1))
        archive.message(2600 + 1000 * i, 20 + i, archive.turned, (1, 0))
    for _, threads, _ in archive.ranks:
        threads[0].program_end(10000, 0)
    return archive.found


def main():
    with otf2.writer.open(sys.argv[1], timer_resolution=TICKS) as trace:
        if len(sys.argv) > 2:
            found = {"contexts": contexts, "messages": messages, "others": others}[sys.argv[2]](trace)
        else:
            archive = Archive(trace)
            archive.run()
            found = archive.found
    print(json.dumps(found))


if __name__ == "__main__":
    main()
