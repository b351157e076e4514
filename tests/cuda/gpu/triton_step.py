#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels that Python makes: triton_step.py triton|compile [STEPS].

triton: a Triton kernel with one hot line. compile: a function that torch.compile makes kernels of, into
TORCHINDUCTOR_CACHE_DIR. Prints file and hot line, or the folder of the generated source, as JSON."""
import json
import os
import sys

import torch
import triton
import triton.language as tl

SIZE, BLOCK, ROUNDS = 1 << 22, 1024, 4000


@triton.jit
def hot_kernel(x, rounds, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    v = tl.load(x + at)
    for _ in range(rounds):
        v = tl.sqrt(v * v + 1.0) / (v + 2.0)  # the hot line
    tl.store(x + at, v)


def hot_line():
    with open(__file__, encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if line.rstrip().endswith("# the hot line"))


def run_triton(steps):
    x = torch.rand(SIZE, device="cuda")
    for _ in range(steps):
        hot_kernel[(SIZE // BLOCK,)](x, ROUNDS, BLOCK)
    torch.cuda.synchronize()
    return {"file": os.path.abspath(__file__), "line": hot_line(), "ok": bool(torch.isfinite(x).all())}


def run_compiled(steps):
    def step(x, y):
        for _ in range(8):
            x = torch.sin(x) * y + torch.cos(y) * x
        return x.softmax(-1).sum(-1)

    compiled = torch.compile(step)
    x, y = torch.rand(4096, 4096, device="cuda"), torch.rand(4096, 4096, device="cuda")
    out = compiled(x, y)
    for _ in range(steps):
        out = compiled(x, y)
    torch.cuda.synchronize()
    return {"folder": os.environ.get("TORCHINDUCTOR_CACHE_DIR", ""),
            "ok": bool(torch.allclose(out, step(x, y), rtol=1e-3))}


def main():
    what, steps = sys.argv[1], int((sys.argv + ["20"])[2])
    print(json.dumps(run_triton(steps) if what == "triton" else run_compiled(steps)), flush=True)


if __name__ == "__main__":
    main()
