#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Databases of the shape that rocmProfileData's tracer leaves, of schema version 3 or 2, with made-up events. Two processes,
two devices, two streams, two threads.

    rpd_db.py FILE [LAUNCHES]"""
import os
import sqlite3
import sys

ID = "id integer NOT NULL PRIMARY KEY AUTOINCREMENT"
SCHEMA = {
    "rocpd_metadata": f"{ID}, tag varchar(4096) NOT NULL, value varchar(4096) NOT NULL",
    "rocpd_string": f"{ID}, string varchar(4096) NOT NULL",
    "rocpd_ustring": f"{ID}, string varchar(4096) NOT NULL",
    "rocpd_api": f"{ID}, pid integer NOT NULL, tid integer NOT NULL, start integer NOT NULL, end integer NOT NULL, apiName_id bigint "
                 "NOT NULL, category_id bigint NOT NULL, domain_id bigint NOT NULL, args_id bigint NOT NULL",
    "rocpd_copyapi": "api_ptr_id bigint NOT NULL PRIMARY KEY, stream varchar(18) NOT NULL, size integer NOT NULL, width integer NOT NULL, "
                     "height integer NOT NULL, kind integer NOT NULL, dst varchar(18) NOT NULL, src varchar(18) NOT NULL, dstDevice "
                     "integer NOT NULL, srcDevice integer NOT NULL, sync bool NOT NULL, pinned bool NOT NULL",
    "rocpd_kernelapi": "api_ptr_id bigint NOT NULL PRIMARY KEY, stream varchar(18) NOT NULL, gridX integer NOT NULL, gridY integer NOT "
                       "NULL, gridZ integer NOT NULL, workgroupX integer NOT NULL, workgroupY integer NOT NULL, workgroupZ integer NOT "
                       "NULL, groupSegmentSize integer NOT NULL, privateSegmentSize integer NOT NULL, kernelName_id bigint NOT NULL",
    "rocpd_op": f"{ID}, gpuId integer NOT NULL, queueId integer NOT NULL, sequenceId integer NOT NULL, start integer NOT NULL, end integer "
                "NOT NULL, description_id bigint NOT NULL, opType_id bigint NOT NULL",
    "rocpd_api_ops": f"{ID}, api_id bigint NOT NULL, op_id bigint NOT NULL",
    "rocpd_monitor": f"{ID}, deviceType varchar(16) NOT NULL, deviceId integer NOT NULL, monitorType varchar(16) NOT NULL, start integer "
                     "NOT NULL, end integer NOT NULL, value varchar(255) NOT NULL",
    "rocpd_counter": f"{ID}, value real NOT NULL, op_id bigint NOT NULL, name_id bigint NOT NULL",
    "rocpd_stackframe": f"{ID}, api_ptr_id bigint NOT NULL, depth integer NOT NULL, name_id bigint NOT NULL",
}
# Before version 3: no domains, arguments among the strings, ids of calls that are row numbers.
OLD = {
    "rocpd_api": f"{ID}, pid integer NOT NULL, tid integer NOT NULL, start integer NOT NULL, end integer NOT NULL, apiName_id integer NOT "
                 "NULL, args_id integer NOT NULL",
    "rocpd_copyapi": SCHEMA["rocpd_copyapi"].replace("bigint", "integer"),
    "rocpd_kernelapi": SCHEMA["rocpd_kernelapi"].replace("bigint", "integer"),
}
PIDS = (4000, 4001)
START = 8306017478773569  # as the clock since boot has it
FIRST = 1 << 32           # ids begin behind


class Database:
    def __init__(self, path, version=3):
        if os.path.exists(path):
            os.remove(path)
        self.db = sqlite3.connect(path)
        self.version = version
        for table, columns in SCHEMA.items():
            if version < 3:
                columns = OLD.get(table, columns)
                if table in ("rocpd_ustring", "rocpd_counter", "rocpd_stackframe"):
                    continue
            self.db.execute(f"CREATE TABLE {table} ({columns})")
        self.ids = {"rocpd_string": {}, "rocpd_ustring": {}}
        self.next = FIRST
        for tag, value in (("gpu_stride", "1000"), ("pid_stride", "10000000")) if version >= 3 else ():
            self.add("rocpd_metadata", tag=tag, value=value)
        self.add("rocpd_metadata", tag="schema_version", value=str(version))
        self.string("")

    def add(self, table, **values):
        names = ", ".join(values)
        self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", list(values.values()))

    def string(self, text, table="rocpd_string"):
        if self.version < 3:
            table = "rocpd_string"
        known = self.ids[table]
        if text not in known:
            known[text] = FIRST + len(known) + 1
            self.add(table, id=known[text], string=text)
        return known[text]

    def api(self, p, t, name, start, end, args="", domain="hip"):
        self.next += 1
        more = dict(domain_id=self.string(domain), category_id=self.string("")) if self.version >= 3 else {}
        self.add("rocpd_api", id=self.next, pid=p, tid=t, start=START + start, end=START + end, apiName_id=self.string(name),
                 args_id=self.string(args, "rocpd_ustring"), **more)
        return self.next

    def op(self, gpu, queue, start, end, kind, name="", api=None):
        self.next += 1
        self.add("rocpd_op", id=self.next, gpuId=gpu, queueId=queue, sequenceId=0, start=START + start, end=START + end,
                 description_id=self.string(name), opType_id=self.string(kind))
        if api:
            self.add("rocpd_api_ops", api_id=api, op_id=self.next)
        return self.next

    def kernel_api(self, api, stream, grid, group, name):
        self.add("rocpd_kernelapi", api_ptr_id=api, stream=stream, gridX=grid[0], gridY=grid[1], gridZ=grid[2], workgroupX=group[0],
                 workgroupY=group[1], workgroupZ=group[2], groupSegmentSize=512, privateSegmentSize=16, kernelName_id=self.string(name))

    def copy_api(self, api, stream, size, kind, width="", height=""):
        self.add("rocpd_copyapi", api_ptr_id=api, stream=stream, size=size, width=width, height=height, kind=kind, dst="0x1", src="0x2",
                 dstDevice=0, srcDevice=0, sync=0, pinned=0)

    def close(self):
        self.db.commit()
        self.db.close()


def process(d, p, at):
    main, worker = p, p + 50
    d.api(p, main, "hipMalloc", at + 1000, at + 2000, "ptr=0x7000 | size=0x1000")
    api = d.api(p, main, "hipMemcpy", at + 3000, at + 6000)
    d.copy_api(api, "0x0", 4096, 1)
    d.op(2, 0, at + 3500, at + 5501, "CopyHostToDevice", api=api)
    api = d.api(p, main, "hipLaunchKernel", at + 7000, at + 7100)
    d.kernel_api(api, "0x7f3ead70", (5, 3, 1), (64, 1, 1), "gemm(float*)")
    first = d.op(2, 1, at + 7600, at + 9603, "KernelExecution", "gemm(float*)", api)
    api = d.api(p, worker, "hipExtModuleLaunchKernel", at + 7050, at + 7200)
    d.kernel_api(api, "0x0", (1792, 2, 1), (256, 1, 1), "Cijk_Ailk")
    d.op(3, 2, at + 8000, at + 8007, "KernelExecution", "Cijk_Ailk", api)
    api = d.api(p, main, "hipMemcpy2DAsync", at + 8000, at + 8100)
    d.copy_api(api, "0x7f3ead70", "", 2, 16, 8)
    d.op(2, 1, at + 9700, at + 9800, "Memcpy", "", api)
    d.op(2, 1, at + 9900, at + 9950, "Memcpy", "", api)  # the runtime has split it
    api = d.api(p, main, "hipMemsetAsync", at + 8200, at + 8300)
    d.copy_api(api, "0x7f3ead70", 64, 0)
    d.op(2, 1, at + 10000, at + 10100, "FillBuffer", api=api)
    d.op(2, 1, at + 10200, at + 10300, "Barrier", api=api)
    d.api(p, main, "hipFree", at + 12000, at + 13000, "ptr=0x7000")
    d.api(p, main, "UserMarker", at + 500, at + 15000, "step \"1\"", "UserMarker")
    d.api(p, main, "UserMarker", at + 2500, at + 6500, "load", "UserMarker")
    d.api(p, main, "UserMarker", at + 14000, at + 14000, "done", "UserMarker")
    d.api(p, main, "train.py", at + 600, at + 14500, "epoch 3", "python")
    if d.version >= 3:
        d.add("rocpd_counter", value=12.5, op_id=first, name_id=d.string("SQ_WAVES"))
        d.add("rocpd_stackframe", api_ptr_id=api, depth=0, name_id=d.string("main"))


def write(path, change=None, version=3):
    d = Database(path, version)
    for k, p in enumerate(PIDS):
        process(d, p, 1000000 * k)
    for gpu in (2, 3):
        for kind, value in (("sclk", "1700"), ("power", "93.5")):
            for k in range(3):
                d.add("rocpd_monitor", deviceType="gpu", deviceId=gpu, monitorType=kind, start=START + 1000 * k + gpu,
                      end=START + 1000 * (k + 1), value=value if k else "0")
    d.db.execute("CREATE TABLE rocpd_barrierop (op_ptr_id integer NOT NULL PRIMARY KEY, signalCount integer NOT NULL)")
    d.add("rocpd_barrierop", op_ptr_id=1, signalCount=1)
    d.db.execute("CREATE VIEW top AS SELECT string FROM rocpd_string")
    if change:
        change(d)
    d.close()
    return path


def write_many(path, launches):
    """For measurements."""
    d = Database(path)
    name, kernel, kind, empty, hip = (d.string(s) for s in ("hipLaunchKernel", "gemm(float*)", "KernelExecution", "", "hip"))
    nothing = d.string("", "rocpd_ustring")
    apis, kernels, ops, links = [], [], [], []
    for i in range(launches):
        p, at, n = PIDS[i & 1], START + i * 2000, FIRST + i
        apis.append((n, p, p, at, at + 900, name, empty, hip, nothing))
        kernels.append((n, "0x0", 5, 3, 1, 64, 1, 1, 0, 0, kernel))
        ops.append((n, 2 + i % 2, i % 3, 0, at + 1000, at + 2900, kernel, kind))
        links.append((n, n))
    for table, rows in (("rocpd_api", apis), ("rocpd_kernelapi", kernels), ("rocpd_op", ops)):
        d.db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
    d.db.executemany("INSERT INTO rocpd_api_ops (api_id, op_id) VALUES (?, ?)", links)
    d.close()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        write_many(sys.argv[1], int(sys.argv[2]))
    else:
        write(sys.argv[1])
