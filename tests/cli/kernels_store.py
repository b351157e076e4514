# SPDX-License-Identifier: Apache-2.0
"""Stores with made-up kernels: of a real one's schema, with rows of this file's own. What `kymo kernels` computes of them is known."""
import json
import shutil
import sqlite3
import subprocess

H200 = {"compute_capability": "9.0", "multiprocessors": 132, "warp": 32, "clock_khz": 1980000, "warps_per_multiprocessor": 64,
        "blocks_per_multiprocessor": 32, "shared_bytes_per_multiprocessor": 233472, "registers_per_multiprocessor": 65536,
        "memory_bandwidth_kb_s": 4800000000, "memory_bytes": 150754820096, "l2_bytes": 62914560}
MI300 = {"compute_units": 304, "clock_mhz": 2100, "wave_front_size": 64, "simd_per_cu": 4, "max_waves_per_simd": 8, "num_xcc": 8}


def empty(kymo, synth, folder):
    """The path of a store without kernels, to be copied."""
    trace = folder + "/empty.kymo"
    subprocess.run([synth, "timed", trace], input="kernel a 64 2000 1000\nend 9000000\n", text=True, check=True)
    subprocess.run([kymo, "query", trace, "SELECT 1"], check=True, stdout=subprocess.DEVNULL)
    return trace + "/store.db"


class Store:
    """Devices and kernels are made when they are first named."""

    def __init__(self, template, path):
        shutil.copy(template, path)
        self.path, self.db = path, sqlite3.connect(path)
        for table in ("dispatch", "agent", "kernel", "launch"):
            self.db.execute(f"DELETE FROM {table}")
        self.db.execute("UPDATE queue SET agent = 1")
        domain = self.db.execute("INSERT INTO domain(name, title) VALUES('counter', 'Counters')").lastrowid
        self.op = self.db.execute("INSERT INTO op(domain, number, name, flags, status_set, status_ok) VALUES(?, 3, 'dispatch', 40, 0, 0)",
                                  (domain,)).lastrowid
        self.devices, self.kernels, self.counters, self.dispatches = {}, {}, {}, 0

    def device(self, label, vendor="NVIDIA", kind="gpu", domain="cuda", properties=None):
        properties = H200 if properties is None else properties
        self.devices[label] = len(self.devices) + 1
        self.db.execute("INSERT INTO agent(id, process, clock, type, name, vendor, domain, properties, label) VALUES(?,1,1,?,?,?,?,?,?)",
                        (self.devices[label], kind, label.split(" #")[0], vendor, domain, json.dumps(properties, separators=(",", ":")), label))

    def kernel(self, name):
        if name not in self.kernels:
            self.kernels[name] = len(self.kernels) + 1
            string = self.db.execute("SELECT id FROM string WHERE text = ?", (name,)).fetchone() or \
                (self.db.execute("INSERT INTO string(text) VALUES(?)", (name,)).lastrowid,)
            self.db.execute("INSERT INTO kernel(id, process, program, domain, name) VALUES(?,1,0,'cuda',?)", (self.kernels[name], string[0]))
        return self.kernels[name]

    def dispatch(self, kernel, device, duration=None, items=(4096,), group=(256,), registers=32, shared=0, dynamic=0, local=0, counters=None,
                 call=None, launch=True):
        """Without a duration it is untimed, as what CUPTI counts is. A counter's name may be PROVIDER:NAME."""
        self.dispatches += 1
        number, grid, block = self.dispatches, (*items, None, None)[:3], (*group, None, None)[:3]
        call = number if call is None else call
        self.db.execute("INSERT INTO dispatch(id, call, process, agent, queue, kernel, start, duration, dims, global_x, global_y, global_z, "
                        "local_x, local_y, local_z, untimed) VALUES(?,?,1,?,1,?,?,?,?,?,?,?,?,?,?,?)",
                        (number, call, self.devices[device], self.kernel(kernel), 1000 * number, duration or 0, len(items), *grid, *block,
                         0 if duration else 5))
        if launch:
            self.db.execute("INSERT INTO launch VALUES(?,?,?,?,?,0,0,0,0,0)", (number, registers, shared, dynamic, local))
        for name, value in (counters or {}).items():
            self.value(name, value, call, self.kernel(kernel))

    def value(self, name, value, call, kernel, instance=0):
        if name not in self.counters:
            self.counters[name] = len(self.counters) + 1
            provider, _, word = name.rpartition(":")
            self.db.execute("INSERT INTO counter VALUES(?,1,1,0,?,'','',?,'')", (self.counters[name], word, provider or "made-up"))
        self.db.execute("INSERT INTO counter_value(process, thread, op, call, call_op, kernel, counter, agent, instance, value, time, duration) "
                        "VALUES(1,1,?,?,0,?,?,1,?,?,1000,0)", (self.op, call, kernel, self.counters[name], instance, value))

    def done(self):
        self.db.commit()
        self.db.close()
        return self.path
