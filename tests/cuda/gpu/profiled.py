# SPDX-License-Identifier: Apache-2.0
"""A program that profiles itself: profiled.py torch|jax. Prints how many events of the GPU it saw.

The events are fixed by what runs: with another tool around it the number must not change.
"""
import glob
import json
import sys
import tempfile


def by_torch():
    import torch
    from torch.profiler import ProfilerActivity, profile

    x = torch.randn(256, 256, device="cuda")
    for _ in range(10):
        x @ x
    torch.cuda.synchronize()
    seen = []
    for _ in range(2):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
            for _ in range(50):
                torch.relu(x @ x)
            torch.cuda.synchronize()
        events = [e for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA]
        seen.append(len(events))
        assert all(e.time_range.elapsed_us() >= 0 for e in events)
    return seen


def by_jax():
    import jax
    import jax.numpy as jnp

    f = jax.jit(lambda x: jnp.sin(x @ x))
    x = jnp.ones((256, 256))
    f(x).block_until_ready()
    seen = []
    for _ in range(2):
        folder = tempfile.mkdtemp()
        with jax.profiler.trace(folder):
            for _ in range(20):
                y = f(x)
            y.block_until_ready()
        planes = [p for name in glob.glob(folder + "/**/*.xplane.pb", recursive=True)
                  for p in jax.profiler.ProfileData.from_file(name).planes if "GPU" in p.name]
        seen.append(sum(len(list(line.events)) for p in planes for line in p.lines))
    return seen


if __name__ == "__main__":
    print(json.dumps({"torch": by_torch, "jax": by_jax}[sys.argv[1]]()))
