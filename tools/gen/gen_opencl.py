#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generate the OpenCL backend's tables and wrappers from api/opencl.

Run by the build. Output is the same for the same input; a file is rewritten only when it changes,
so that nothing is compiled again for nothing.
"""

import argparse
import pathlib
import sys

from emit_desc import emit_args, emit_desc, emit_ops
from emit_preload import emit_preload
from emit_wrap import emit_hooks, emit_table, emit_wrap
from model import Model, ModelError

LINKS_PER_OP = 4  # pointers of one function that can be told apart: table and platforms

FILES = {
    "opencl_ops.h": lambda m: emit_ops(m, LINKS_PER_OP),
    "opencl_desc.c": emit_desc,
    "opencl_args.h": emit_args,
    "opencl_hooks.h": emit_hooks,
    "opencl_wrap.c": lambda m: emit_wrap(m, LINKS_PER_OP),
    "opencl_table.c": emit_table,
    "opencl_preload.c": emit_preload,
}


def write(path, lines):
    text = "\n".join(lines).rstrip("\n") + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--api", type=pathlib.Path, required=True, help="folder api/opencl")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    try:
        model = Model(args.api)
    except ModelError as error:
        sys.exit(f"gen_opencl: {error}")
    args.out.mkdir(parents=True, exist_ok=True)
    for name, emit in FILES.items():
        write(args.out / name, emit(model))


if __name__ == "__main__":
    main()
