#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of PyTorch: train.py small|large STEPS [kineto|kineto_cuda|none|nvtx].

Small: 20 linear layers of 256, batch 64, where launching is what costs; large: layers of 8192.
Prints the median milliseconds of a step, after warming up, as JSON; Kineto counts its kernels.

With STEPS 0 it serves: for each line "STEPS [MAIN_CPU BACKWARD_CPU]" read it runs so many steps,
its two launching threads bound to those CPUs, and prints what they took; "end" ends it.
"""
import json
import os
import statistics
import sys
import time

import torch

WARM = 30


def model(width, layers):
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts).cuda()


def threads():
    """Names and CPU time in ns of this process's threads."""
    found = {}
    for tid in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{tid}/comm", encoding="utf-8") as f:
                name = f.read().strip()
            with open(f"/proc/self/task/{tid}/schedstat", encoding="ascii") as f:
                found[int(tid)] = (name, int(f.read().split()[0]))
        except OSError:
            pass  # it has ended
    return found


def launching(name, tid):
    """PyTorch launches forward on the main thread, backward on one of its own."""
    return tid == os.getpid() or name.startswith("pt_autograd")


def bind(cpus):
    for tid, (name, _) in threads().items():
        if launching(name, tid):
            os.sched_setaffinity(tid, [cpus[0] if tid == os.getpid() else cpus[1]])


class Training:
    def __init__(self, what, tool):
        torch.manual_seed(1)
        small = what == "small"
        self.tool, self.kernels = tool, None
        self.net = model(256, 20) if small else model(8192, 4)
        self.data = torch.randn(64 if small else 4096, 256 if small else 8192, device="cuda")

    def step(self):
        self.net.zero_grad(set_to_none=True)
        self.net(self.data).square().mean().backward()

    def marked_step(self):
        push, pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
        push("step")
        self.net.zero_grad(set_to_none=True)
        push("forward")
        loss = self.net(self.data).square().mean()
        pop()
        push("backward")
        loss.backward()
        pop()
        pop()

    def run(self, count):
        step, times = self.marked_step if self.tool == "nvtx" else self.step, []
        for _ in range(count):
            torch.cuda.synchronize()
            start = time.perf_counter()
            step()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
        return times

    def measured(self, count):
        if not self.tool.startswith("kineto"):
            return self.run(count)
        from torch.profiler import ProfilerActivity, profile
        kinds = [ProfilerActivity.CUDA] + [ProfilerActivity.CPU] * (self.tool == "kineto")
        with profile(activities=kinds) as p:
            times = self.run(count)
        self.kernels = sum(1 for e in p.events()
                           if e.device_type == torch.autograd.DeviceType.CUDA)
        return times


def serve(training, answers):
    print(json.dumps({"ready": os.getpid()}), file=answers, flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            return
        count, *cpus = map(int, line.split())
        if cpus:
            bind(cpus)
        training.run(3)
        before = threads()
        times = training.measured(count)
        spent = [0, 0]
        for tid, (name, ns) in threads().items():
            spent[not launching(name, tid)] += ns - before.get(tid, (name, 0))[1]
        print(json.dumps({"time": statistics.median(times), "kernels": training.kernels,
                          "launching": spent[0] / 1e6 / count, "others": spent[1] / 1e6 / count}),
              file=answers, flush=True)


def main():
    what, steps, tool = sys.argv[1], int(sys.argv[2]), (sys.argv + ["none"])[3]
    answers = sys.stdout
    if steps == 0:
        answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # tools may print
    training = Training(what, tool)
    training.run(WARM)
    if steps == 0:
        serve(training, answers)
        return
    times = training.measured(steps)
    print(json.dumps({"what": what, "tool": tool, "steps": steps, "warm": WARM,
                      "median_ms": round(statistics.median(times), 4),
                      "min_ms": round(min(times), 4), "kernels": training.kernels}), flush=True)


if __name__ == "__main__":
    main()
