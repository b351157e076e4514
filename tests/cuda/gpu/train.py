#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of PyTorch: train.py small|large STEPS [kineto|kineto_cuda|none].

Small: 20 linear layers of 256, batch 64, where launching is what costs; large: layers of 8192.
Prints the median milliseconds of a step, after warming up, as JSON; Kineto counts its kernels.
"""
import json
import statistics
import sys
import time

import torch


def model(width, layers):
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts).cuda()


def main():
    what, steps, tool = sys.argv[1], int(sys.argv[2]), (sys.argv + ["none"])[3]
    torch.manual_seed(1)
    net = model(256, 20) if what == "small" else model(8192, 4)
    data = torch.randn(64 if what == "small" else 4096, 256 if what == "small" else 8192,
                       device="cuda")

    def step():
        net.zero_grad(set_to_none=True)
        net(data).square().mean().backward()

    def run(count):
        times = []
        for _ in range(count):
            torch.cuda.synchronize()
            start = time.perf_counter()
            step()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
        return times

    run(30)
    kernels = None
    if tool.startswith("kineto"):
        from torch.profiler import ProfilerActivity, profile
        kinds = [ProfilerActivity.CUDA]
        if tool == "kineto":
            kinds.append(ProfilerActivity.CPU)
        with profile(activities=kinds) as p:
            times = run(steps)
        kernels = sum(1 for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA)
    else:
        times = run(steps)
    print(json.dumps({"what": what, "tool": tool, "steps": steps, "warm": 30,
                      "median_ms": round(statistics.median(times), 4),
                      "min_ms": round(min(times), 4), "kernels": kernels}), flush=True)


if __name__ == "__main__":
    main()
