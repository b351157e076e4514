#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Registration of runtimes, by Kymo's interface and AMD's, in all styles of linking.

test_register.py BUILD [TESTS...]: the folder cmake built in. The probes check themselves and say
what failed; here are the environments they run in, and what Kymo recorded.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
LIB = os.path.join(BUILD, "lib")
HERE = os.path.join(BUILD, "tests", "register")
PROFILER = os.path.join(HERE, "profiler", "librocprofiler-sdk.so")
KYMO = os.path.join(BUILD, "bin", "kymo")
LIBKYMO = os.path.join(LIB, "libkymo.so.1")
REGISTER = os.path.join(LIB, "libkymo-register.so.1")
AMD = os.path.join(HERE, "amd") + ":" + LIB
TOOL = os.path.join(HERE, "tool", "libtool-count.so")
STYLES = ["linked", "weak", "dlopen"]


def environment(**settings):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("KYMO_", "ROCP", "LD_PRELOAD", "OPENCL_LAYERS"))}
    env["LD_LIBRARY_PATH"] = LIB
    env.update(settings)
    return env


def runtime(style):
    return os.path.join(HERE, style, "libamdhip64.so.6")


class Probe(unittest.TestCase):
    def probe(self, program, *args, **settings):
        done = subprocess.run([os.path.join(HERE, program), *args], env=environment(**settings),
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, f"{program} {args} {settings}\n{done.stdout}"
                                             f"{done.stderr}")
        return done.stdout

    def record(self, program, *args, **settings):
        """Runs under kymo; returns the records as JSON objects and the summary's text."""
        with kymotest.Folder() as folder:
            trace = os.path.join(folder, "t.kymo")
            done = subprocess.run([KYMO, "run", "-o", trace, os.path.join(HERE, program), *args],
                                  env=environment(**settings), capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            shown = subprocess.run([KYMO, "show", trace], capture_output=True, text=True,
                                   check=True).stdout
            return shown, done.stdout + done.stderr


    def secure(self, program, *args, **settings):
        """Runs as a set-user-id program: settings must not count."""
        if os.geteuid() != 0:
            self.skipTest("only root can make a program that runs in secure mode")
        with kymotest.Folder() as folder:
            os.chmod(folder, 0o755)
            copy = os.path.join(folder, "probe")
            shutil.copy(os.path.join(HERE, program), copy)
            os.chmod(copy, 0o4755)
            done = subprocess.run([copy, *args], env=environment(**settings), user=65534,
                                  capture_output=True, text=True, timeout=60)
        if "getauxval" in done.stderr:
            self.skipTest("set-user-id programs do not work here")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Rocm(Probe):
    """AMD's interface in front of a fake for AMD's profiler."""

    def rocm(self, scenario, style="linked", **settings):
        self.probe("probe_rocm", scenario, runtime(style), PROFILER, **settings)

    def test_without_library(self):
        self.rocm("no-library", "weak")
        self.rocm("no-library", "dlopen", LD_LIBRARY_PATH="")

    def test_without_tool(self):
        self.rocm("no-tool", "linked")
        self.rocm("no-tool", "dlopen")
        self.rocm("no-tool", "weak", LD_PRELOAD=os.path.join(LIB, "librocprofiler-register.so.0"))

    def test_profiler_by_environment(self):
        for style in STYLES:
            preload = os.path.join(LIB, "librocprofiler-register.so.0") if style == "weak" else ""
            with self.subTest(style=style):
                self.rocm("taken", style, LD_PRELOAD=preload, ROCPROFILER_REGISTER_LIBRARY=PROFILER)

    def test_profiler_preloaded(self):
        for style in STYLES:
            preload = PROFILER
            if style == "weak":
                preload += ":" + os.path.join(LIB, "librocprofiler-register.so.0")
            with self.subTest(style=style):
                self.rocm("taken", style, LD_PRELOAD=preload, ROCPROFILER_REGISTER_FORCE_LOAD="1")

    def test_profiler_by_default_name(self):
        self.rocm("taken", LD_LIBRARY_PATH=LIB + ":" + os.path.dirname(PROFILER),
                  ROCP_TOOL_LIBRARIES="any.so")

    def test_profiler_present_but_not_asked_for(self):
        self.rocm("no-tool", LD_PRELOAD=PROFILER)

    def test_constructor(self):
        self.rocm("constructor", "constructor", ROCPROFILER_REGISTER_LIBRARY=PROFILER)

    def test_codes(self):
        self.rocm("codes")

    def test_disabled(self):
        for off in ("0", "no", "FALSE"):
            self.rocm("disabled", ROCPROFILER_REGISTER_ENABLED=off, LD_PRELOAD=PROFILER,
                      ROCPROFILER_REGISTER_FORCE_LOAD="1")

    def test_secure_setting(self):
        self.rocm("taken", ROCPROFILER_REGISTER_SECURE="1", ROCPROFILER_REGISTER_LIBRARY=PROFILER)
        self.probe("probe_rocm", "secure-refused", os.path.join(HERE, "linked/libsomething.so.1"),
                   PROFILER, ROCPROFILER_REGISTER_SECURE="1", ROCPROFILER_REGISTER_LIBRARY=PROFILER)

    def test_secure_mode(self):
        self.secure("probe_rocm", "secure", runtime("linked"), PROFILER,
                    ROCPROFILER_REGISTER_LIBRARY=PROFILER, ROCPROFILER_REGISTER_FORCE_LOAD="1")

    def test_more_than_eight_instances(self):
        self.rocm("instances", LD_PRELOAD=PROFILER, ROCPROFILER_REGISTER_FORCE_LOAD="1")

    def test_threads(self):
        for _ in range(5):
            self.rocm("threads", LD_PRELOAD=PROFILER, ROCPROFILER_REGISTER_FORCE_LOAD="1")

    def test_nested(self):
        self.rocm("nested", LD_PRELOAD=PROFILER, ROCPROFILER_REGISTER_FORCE_LOAD="1")

    def test_late(self):
        self.rocm("late")

    def test_unloaded(self):
        for style in ("linked", "dlopen"):
            self.rocm("unloaded", style)

    def test_refused(self):
        self.rocm("refused", LD_PRELOAD=PROFILER, ROCPROFILER_REGISTER_FORCE_LOAD="1")


class RocmKymo(Probe):
    """AMD's interface in front of Kymo."""

    def test_recorded(self):
        for style in STYLES:
            preload = os.path.join(LIB, "librocprofiler-register.so.0") if style == "weak" else ""
            with self.subTest(style=style):
                shown, summary = self.record("probe_rocm", "kymo", runtime(style), PROFILER,
                                             LD_PRELOAD=preload)
                self.check_calls(shown)
                self.check_markers(shown)
                self.assertIn("unknown", summary)

    def check_calls(self, shown):
        self.assertRegex(shown, r"hip:hipMalloc\(ptr=0x1000, size=1024\) = hipSuccess")
        self.assertRegex(shown, r"hip:hipMalloc\(.*size=0\) = hipErrorInvalidValue")
        self.assertRegex(shown, r"hip:hipLaunchKernel\(function_address=0xabc0, numBlocks\.x=1, "
                                r"numBlocks\.y=2, numBlocks\.z=3, dimBlocks\.x=64, dimBlocks\.y=1, "
                                r"dimBlocks\.z=1, args=0xdef0, sharedMemBytes=4096, stream=0x5000\)")
        self.assertRegex(shown, r"hsa:hsa_init\(\) = HSA_STATUS_SUCCESS")
        self.assertRegex(shown, r"hsa:hsa_amd_memory_pool_allocate\(memory_pool=0x63, size=4096, "
                                r"flags=1, ptr=0x2000\)")
        self.assertRegex(shown, r"hsa:hsa_ven_amd_pcs_start\(pc_sampling=0x4d\) = HSA_STATUS_SUCCESS")

    def check_markers(self, shown):
        for text in ('roctxMarkA(message="a mark")', 'roctxRangePushA(message="outer")',
                     'roctxRangePushA(message="inner")', "roctxRangePop(", "roctxRangeStop(id=77)",
                     'roctxRangeStartA(message="a process range"', "roctxGetThreadId(tid=4711",
                     'roctxNameOsThread(name="the worker"', "roctxProfilerPause(tid=0"):
            self.assertIn("roctx:" + text, shown)
        for text in ('mark "a mark"', 'range "outer"', 'process_range "a process range"'):
            self.assertIn("marker:" + text + " domain=roctx", shown)
        inner = re.search(r'marker:range "inner" domain=roctx scope=(\d+) in=(\d+)', shown)
        self.assertTrue(inner, shown)
        self.assertRegex(shown, rf'marker:range "outer" domain=roctx scope={inner.group(2)}\b')
        self.assertRegex(shown, rf"hipMalloc\(.*size=77\).* scope={inner.group(1)}\b")
        self.assertRegex(shown, r"hipMalloc\(.*size=5555\) = hipSuccess  ") # in no scope
        self.assertIn("size=7777", shown)
        for paused in ("size=4444", "size=6666"):
            self.assertNotIn(paused, shown)

    def test_constructor(self):
        shown, _ = self.record("probe_rocm", "kymo-constructor", runtime("constructor"), PROFILER)
        self.assertIn("size=88", shown)

    def test_sizes(self):
        self.record("probe_rocm", "kymo-sizes", runtime("linked"), PROFILER)

    def test_untraced(self):
        """That a table is not traced is told to the user, never to the runtime as an error."""
        for chained in ({}, {"PROBE_CHAINED": "1", "LD_PRELOAD": PROFILER}):
            _, summary = self.record("probe_rocm", "kymo-untraced", runtime("linked"), PROFILER,
                                     **chained)
            for name in ("hsa", "rccl"):
                self.assertIn(f"the tables of {name} are not traced", summary)

    def test_beside_amds_profiler(self):
        shown, _ = self.record("probe_rocm", "kymo-chained", runtime("linked"), PROFILER,
                               LD_PRELOAD=PROFILER)
        self.assertIn("size=123", shown)


class Amd(RocmKymo):
    """A fake for AMD's own register library: the launcher makes it find Kymo."""

    def record(self, program, *args, **settings):
        if "LD_PRELOAD" in settings:
            settings["LD_PRELOAD"] = settings["LD_PRELOAD"].replace(LIB, os.path.join(HERE, "amd"))
        return super().record(program, *args, LD_LIBRARY_PATH=AMD, **settings)

    def test_users_values_stay(self):
        """A profiler that the user named gets the tables too; one switched off stays off."""
        shown, _ = self.record("probe_rocm", "kymo-chained", runtime("linked"), PROFILER,
                               ROCPROFILER_REGISTER_LIBRARY=PROFILER)
        self.assertIn("size=123", shown)
        shown, _ = self.record("probe_rocm", "no-tool-amd", runtime("linked"), PROFILER,
                               ROCPROFILER_REGISTER_FORCE_LOAD="0")
        self.assertNotIn("hip:", shown)

    def test_environment(self):
        def settings(*options, **user):
            done = subprocess.run([KYMO, "run", "--dry-run", *options, "true"],
                                  env=environment(**user), capture_output=True, text=True,
                                  check=True)
            return re.findall(r"(ROCP\w+)=(\S+)", done.stdout)
        self.assertEqual(settings(), [("ROCPROFILER_REGISTER_FORCE_LOAD", "1"),
                                      ("ROCPROFILER_REGISTER_LIBRARY", LIBKYMO)])
        self.assertEqual(settings(ROCPROFILER_REGISTER_FORCE_LOAD="0"),
                         [("ROCPROFILER_REGISTER_LIBRARY", LIBKYMO)])
        self.assertEqual(settings(ROCPROFILER_REGISTER_LIBRARY="x.so"),
                         [("ROCPROFILER_REGISTER_FORCE_LOAD", "1")])
        self.assertEqual(settings("--backends", "opencl"), [])

    def test_without_preload(self):
        """A child that drops the preload loads Kymo's library, which has nothing to do there."""
        self.probe("probe_rocm", "taken-quietly", runtime("linked"), PROFILER, LD_LIBRARY_PATH=AMD,
                   ROCPROFILER_REGISTER_FORCE_LOAD="1", ROCPROFILER_REGISTER_LIBRARY=LIBKYMO)


class Kymo(Probe):
    """Kymo's own interface."""

    def kymo(self, scenario, style="linked", **settings):
        return self.probe("probe_register", scenario, os.path.join(HERE, style, "libfake.so.1"),
                          TOOL, LIBKYMO, **settings)

    def test_without_library(self):
        for style in ("weak", "dlopen"):
            self.kymo("no-library", style, LD_LIBRARY_PATH="")

    def test_without_tool(self):
        self.kymo("no-tool", "linked")
        self.kymo("no-tool", "dlopen")
        self.kymo("no-tool", "weak", LD_PRELOAD=REGISTER)

    def test_tool_by_environment(self):
        for style in STYLES:
            with self.subTest(style=style):
                self.kymo("with-tool", style, KYMO_TOOLS=TOOL,
                          LD_PRELOAD=REGISTER if style == "weak" else "")

    def test_library_beside_register(self):
        """libkymo is found where libkymo-register lies, without any path."""
        self.kymo("with-tool", "linked", KYMO_TOOLS=TOOL, LD_LIBRARY_PATH="")

    def test_kymo_preloaded(self):
        for style in STYLES:
            with self.subTest(style=style):
                self.kymo("with-tool", style, LD_PRELOAD=f"{LIBKYMO}:{TOOL}" +
                          (":" + REGISTER if style == "weak" else ""))

    def test_constructor(self):
        self.kymo("constructor", "constructor", KYMO_TOOLS=TOOL)
        self.kymo("constructor", "constructor", LD_PRELOAD=f"{LIBKYMO}:{TOOL}")
        # The runtime's constructor runs before main, as a dependency or preload of the program.
        runtime_path = os.path.join(HERE, "constructor", "libfake.so.1")
        self.kymo("constructor", "constructor", LD_PRELOAD=f"{runtime_path}:{LIBKYMO}:{TOOL}")

    def test_late(self):
        for style in ("linked", "dlopen"):
            self.kymo("late", style)

    def test_unregister(self):
        self.kymo("unregister", KYMO_TOOLS=TOOL)

    def test_memory(self):
        self.kymo("memory")
        self.kymo("memory", KYMO_TOOLS=TOOL)

    def test_nested(self):
        self.kymo("nested", KYMO_TOOLS=TOOL,
                  TOOL_NESTED=os.path.join(HERE, "inner", "libinner.so.1"))

    def test_instances(self):
        self.kymo("instances", KYMO_TOOLS=TOOL)

    def test_threads(self):
        for _ in range(10):
            self.kymo("threads", KYMO_TOOLS=TOOL)

    def test_attach_while_registering(self):
        for _ in range(10):
            self.kymo("attach-while-registering")

    def test_bad_input(self):
        self.kymo("bad-input")
        self.kymo("bad-input", KYMO_TOOLS=TOOL)

    def test_refused(self):
        self.kymo("refused", KYMO_TOOLS=TOOL)

    def test_limit(self):
        self.kymo("limit", KYMO_TOOLS=TOOL)

    def test_secure_mode(self):
        self.secure("probe_register", "secure", os.path.join(HERE, "linked/libfake.so.1"), TOOL,
                    LIBKYMO, KYMO_TOOLS=TOOL)

    def test_recorded(self):
        shown, summary = self.record("probe_register", "plain",
                                     os.path.join(HERE, "linked/libfake.so.1"), TOOL, LIBKYMO)
        for n in range(5):
            self.assertIn(f"fake:twice(n={n}) = {2 * n} ", shown)
        self.assertIn("fake:nothing() = 42 ", shown)
        self.assertIn("entry 3 of the table (unknown) ran untraced", summary)


class Children(Probe):
    """A tool is initialised where a runtime is, not in every program that is started on the way there."""

    def initialised(self, *options, **settings):
        tool = os.path.join(HERE, "tool", "libtool-where.so")
        with kymotest.Folder() as folder:
            report = os.path.join(folder, "report")
            probe = [os.path.join(HERE, "probe_register"), "plain",
                     os.path.join(HERE, "linked/libfake.so.1"), TOOL, LIBKYMO]
            script = "cat /dev/null; " + " ".join(f"'{a}'" for a in probe) + "; cat /dev/null"
            done = subprocess.run([KYMO, "run", "--no-summary", "-o", os.path.join(folder, "t.kymo"),
                                   *(o.replace("TOOL", tool) for o in options), "sh", "-c", script],
                                  env=environment(TOOL_REPORT=report,
                                                  **{k: tool for k in settings}),
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(report, encoding="utf-8") as file:
                return file.read().split()

    def test_run_tool(self):
        self.assertEqual(self.initialised("--tool", "TOOL"), ["probe_register"])

    def test_environment(self):
        self.assertEqual(self.initialised(KYMO_TOOLS="TOOL"), ["probe_register"])


class Intercept(Probe):
    """Two tools that put wrappers of their own into the same entries, beside the recorder."""

    TOOLS = [os.path.join(HERE, "tool", f"libtool-intercept-{n}.so") for n in "ab"]

    def intercepted(self, program, *args, tools=TOOLS, **settings):
        with kymotest.Folder() as folder:
            report = os.path.join(folder, "report")
            shown, output = self.record(program, *args, KYMO_TOOLS=":".join(tools),
                                        TOOL_REPORT=report, **settings)
            lines = []
            if tools:
                with open(report, encoding="utf-8") as file:
                    lines = file.read().splitlines()
        return shown, output, sorted(lines)

    def test_registered_table(self):
        shown, _, report = self.intercepted("probe_register", "plain",
                                            os.path.join(HERE, "linked/libfake.so.1"), TOOL,
                                            LIBKYMO)
        self.assertEqual(report, ["a twice 5", "b twice 5"])
        self.assertEqual(shown.count("fake:twice("), 5)

    def test_rocm_table(self):
        shown, _, report = self.intercepted("probe_rocm", "kymo", runtime("linked"), PROFILER)
        mallocs = int(report[0].split()[2])
        self.assertEqual(report, [f"{n} hipMalloc {mallocs}" for n in "ab"])
        # Those made while recording was paused are seen by tools all the same.
        self.assertEqual(shown.count("hip:hipMalloc("), mallocs - 2)

    def test_opencl(self):
        heat = os.path.join(BUILD, "bin", "heat")
        if not os.path.exists(heat):
            self.skipTest("built without OpenCL")
        calls, reports = {}, {}
        for tools in ([], self.TOOLS):
            shown, output, report = self.intercepted(heat, tools=tools)
            if "nothing was recorded" in output:
                self.skipTest("no OpenCL device here")
            self.assertIn(": correct", output)
            calls[len(tools)] = {op: shown.count(f"opencl:{op}(") for op in
                                 ("clEnqueueNDRangeKernel", "clReleaseContext")}
            reports[len(tools)] = report
        kernels = calls[2]["clEnqueueNDRangeKernel"]
        self.assertGreater(kernels, 1000)
        self.assertEqual(kernels, calls[0]["clEnqueueNDRangeKernel"])
        releases = calls[2]["clReleaseContext"]
        self.assertEqual(reports[2], [f"{n} {op}" for n in "ab" for op in
                                      (f"clEnqueueNDRangeKernel {kernels}",
                                       f"clReleaseContext {releases}")])
        # Calls from a wrapper are calls, and pass through every wrapper: one of the program leads
        # to one of the outer tool and one of the inner, which sees the outer one's, too.
        self.assertEqual(releases, calls[0]["clReleaseContext"] + 4)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=1)
