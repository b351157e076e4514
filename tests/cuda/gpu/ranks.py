#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives of PyTorch over NCCL, by each of two ranks: ranks.py PORT [own].

Ranks are told by Open MPI or torchrun. With `own`, a rank sees one device only, that of its number.
Prints what it did as JSON.
"""
import json
import os
import sys

RANK = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("RANK", "0")))
SIZE = int(os.environ.get("OMPI_COMM_WORLD_SIZE", os.environ.get("WORLD_SIZE", "1")))
if "own" in sys.argv:
    os.environ["CUDA_VISIBLE_DEVICES"] = str(RANK)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402


def main():
    os.environ.update(RANK=str(RANK), WORLD_SIZE=str(SIZE), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=sys.argv[1])
    device = torch.device("cuda", 0 if "own" in sys.argv else RANK)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    data = torch.full((1 << 20,), float(RANK + 1), device=device)
    for _ in range(5):
        dist.all_reduce(data)
        data /= SIZE
    parts = [torch.empty(1000, device=device) for _ in range(SIZE)]
    dist.all_gather(parts, data[:1000].contiguous())
    torch.mm(data[:65536].view(256, 256), data[:65536].view(256, 256))
    torch.nn.functional.conv2d(data[:65536].view(1, 1, 256, 256), data[:9].view(1, 1, 3, 3))
    torch.cuda.synchronize()
    print(json.dumps({"rank": RANK, "value": data[0].item(),
                      "uuid": str(torch.cuda.get_device_properties(device).uuid)}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
