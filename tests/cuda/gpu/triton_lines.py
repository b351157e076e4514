#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A transpose and a sum of Triton's, a function of torch.compile's, and a product by cuBLAS: triton_lines.py. Prints sums."""
import torch
import triton
import triton.language as tl


@triton.jit
def transpose(x, o, n, size: tl.constexpr):
    r = tl.program_id(0) * size + tl.arange(0, size)
    c = tl.program_id(1) * size + tl.arange(0, size)
    v = tl.load(x + r[:, None] + c[None, :] * n)  # the transposed load
    tl.store(o + r[:, None] * n + c[None, :], v)


@triton.jit
def add(x, y, o, n, size: tl.constexpr):
    i = tl.program_id(0) * size + tl.arange(0, size)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)  # the sum


@torch.compile
def fused(x, y):
    return torch.nn.functional.gelu(x) * y.sum()


def main():
    n = 1024
    q = torch.arange(n * n, device="cuda", dtype=torch.float32).reshape(n, n)
    r = torch.empty_like(q)
    transpose[(n // 32, n // 32)](q, r, n, size=32)
    print("transpose", torch.equal(r, q.T.contiguous()))
    x = torch.arange(100000, device="cuda", dtype=torch.float32)
    o = torch.empty_like(x)
    add[(98,)](x, x, o, 100000, size=1024)
    print("add", torch.equal(o, x + x))
    print("fused", fused(x[:4096], x[:4096]).double().sum().item())
    print("product", (q[:64, :64] @ q[:64, :64]).double().sum().item())
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
