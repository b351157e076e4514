# SPDX-License-Identifier: Apache-2.0
"""Emitter of the functions that the preload library exports instead of the loader's."""

import re

from emit import arguments, declare, head, parameters, wrap


def exported(model, name):
    """What every loader exports: the core functions, and those of device fission."""
    if "return" not in model.signatures[name]:
        return False
    return not re.search(r"(KHR|EXT|NV|INTEL|ARM)$", name) or "DeviceEXT" in name or (
        name == "clCreateSubDevicesEXT")


class Signature:
    def __init__(self, row):
        self.params = row["params"]


def emit_preload(model):
    """opencl_preload.c: one function for each exported entry, in the table's order."""
    lines = head("What the preload library exports: every function goes where the table says.",
                 ['"capture/opencl/cl.h"', '"capture/opencl/door_preload.h"'])
    lines += ["#define EXPORT __attribute__((visibility(\"default\")))", ""]
    for index, name in enumerate(model.table):
        if not exported(model, name):
            continue
        row = model.signatures[name]
        op = Signature(row)
        give = "return " if row["return"] != "void" else ""
        cast = f"({declare(row['return'], '(CL_API_CALL *)')}({parameters(op)}))"
        lines += [wrap(f"EXPORT {declare(row['return'], 'CL_API_CALL ' + name)}({parameters(op)})"),
                  "{", wrap(f"{give}({cast}ocl_preload_entry({index}))({arguments(op)});", "\t"),
                  "}", ""]
    lines += ["const char *const ocl_preload_names[OCL_PRELOAD_ENTRIES] = {"]
    lines += [f'\t"{name}",' if exported(model, name) else "\tNULL," for name in model.table]
    return lines + ["};"]
