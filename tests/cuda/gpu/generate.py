#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Text generation by GPT-2 with random weights and six layers: generate.py TOKENS. Prints milliseconds."""
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel


def generate(model, start, tokens):
    model.generate(start, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, pad_token_id=0)
    torch.cuda.synchronize()


def main():
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(n_layer=6, n_embd=384, n_head=6)).cuda().eval()
    start = torch.zeros(1, 4, dtype=torch.long, device="cuda")
    with torch.no_grad():
        generate(model, start, 8)
        begin = time.perf_counter()
        generate(model, start, int(sys.argv[1]))
    print(f"{(time.perf_counter() - begin) * 1e3:.1f} ms")


main()
