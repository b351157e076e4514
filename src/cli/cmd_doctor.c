/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo doctor`: what works here, what does not, and what to do about it. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kymo/agent.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/perf_named.h"
#include "base/run_options.h"
#include "base/plain.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "drain/place.h"
#include "launch/launch.h"
#include "stream/symbol.h"
#include "rewrite/clang.h"
#include "telemetry/telemetry.h"

enum grade { GOOD = LAUNCH_GOOD, FAIR = LAUNCH_FAIR, BAD = LAUNCH_BAD };

static bool anything_bad;

static void print_grade(enum grade g, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void print_grade(enum grade g, const char *what, const char *format, ...)
{
	static const char *const marks[] = {"ok", "note", "FAIL"};
	va_list args;

	anything_bad = anything_bad || g == BAD;
	plain_printf(stdout, "%-5s %-16s ", marks[g], what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void check_libraries(void)
{
	char path[PATH_MAX];

	if (!*cli_libdir()) {
		print_grade(BAD, "installation",
			    "libkymo-inject.so was not found beside %s nor in %s: "
			    "install Kymo again",
			    cli_self(), KYMO_LIBDIR);
		return;
	}
	launch_path(cli_libdir(), "libkymo.so.1", path);
	if (access(path, R_OK) == 0)
		print_grade(GOOD, "installation", "libraries in %s", cli_libdir());
	else
		print_grade(BAD, "installation", "%s: %s", path, strerror(errno));
}

static void check_ticks(void)
{
	static const char *const names[] = {"", "the CPU's time stamp counter",
					    "CLOCK_MONOTONIC_RAW", "the CPU's generic timer"};

	tick_init();
	print_grade(tick_source_chosen == TICK_MONOTONIC_RAW ? FAIR : GOOD, "tick source",
		    "%s, %.1f MHz%s", names[tick_source_chosen], (double)tick_rate() / 1e6,
		    tick_source_chosen == TICK_MONOTONIC_RAW
			    ? ": the kernel does not trust the CPU's counter; a call costs some 40 "
			      "ns more"
			    : "");
}

static void check_memfd(void)
{
	int fd = memfd_create("kymo", MFD_CLOEXEC);

	if (fd < 0) {
		print_grade(BAD, "shared memory", "memfd_create: %s; nothing can be recorded",
			    strerror(errno));
		return;
	}
	if (ftruncate(fd, 1 << 20) == 0 && fallocate(fd, 0, 0, 1 << 20) == 0)
		print_grade(GOOD, "shared memory", "memfd can be reserved");
	else
		print_grade(BAD, "shared memory", "memory for buffers cannot be reserved: %s",
			    strerror(errno));
	close(fd);
}

static void check_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd >= 0)
		print_grade(GOOD, "pidfd", "the drain is notified of the end of processes at once");
	else
		print_grade(FAIR, "pidfd", "%s: the drain looks every 50 ms whether processes live",
			    strerror(errno));
	if (fd >= 0)
		close(fd);
}

static long read_number(const char *path, long otherwise)
{
	char *text = file_read(path, NULL);
	long v = text && *text ? strtol(text, NULL, 10) : otherwise;

	free(text);
	return v;
}

/* How far stacks reach, and whether inlined functions and lines can be told. */
static void check_stacks(long perf, const char *no_events)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct text t = {0};

#if defined(__x86_64__)
	text_add(&t, "by .eh_frame; ");
#else
	text_add(&t, "by frame pointers: others are followed on x86-64 alone; ");
#endif
	if (perf == -100 || no_events)
		text_add(&t, "of samples only with --sample-clock wall; ");
	if (!symbols_have_lines())
		text_add(&t, "no inlined functions and lines: built without libdw");
	else if (servers && *servers)
		text_add(&t, "inlined functions and lines by debug information of files and of "
			     "DEBUGINFOD_URLS");
	else
		text_add(&t,
			 "inlined functions and lines by debug information of files; debuginfod "
			 "is not asked, as DEBUGINFOD_URLS is not set");
	print_grade(perf == -100 || no_events ? FAIR : GOOD, "call stacks", "%s", t.s ? t.s : "");
	text_release(&t);
}

static void check_attach(long ptrace_scope)
{
#ifdef KYMO_HAVE_ATTACH
	if (ptrace_scope <= 0)
		print_grade(GOOD, "attach",
			    "kymo attach records processes of this user that run already");
	else if (ptrace_scope < 3 && geteuid() == 0)
		print_grade(GOOD, "attach",
			    "kymo attach records processes of the superuser that run already; "
			    "ptrace_scope is %ld, which forbids it to others",
			    ptrace_scope);
	else
		print_grade(FAIR, "attach",
			    "ptrace_scope is %ld: the system forbids it (sysctl "
			    "kernel.yama.ptrace_scope=0 "
			    "as the superuser); programs are recorded from their start",
			    ptrace_scope);
#else
	print_grade(FAIR, "attach", "this kymo was built without what it needs: x86-64, libdw");
#endif
}

static void check_kernel_settings(void)
{
	const struct perf_named *event = perf_named_find("task-clock");
	long perf = read_number("/proc/sys/kernel/perf_event_paranoid", -100);
	char why[256] = "";
	long ptrace = read_number("/proc/sys/kernel/yama/ptrace_scope", -100);

	if (perf == -100)
		print_grade(FAIR, "perf events",
			    "not offered by this kernel; --sample needs them, --counters has "
			    "others");
	else if (!perf_named_try(event, 1000000, why, sizeof(why)))
		print_grade(
			FAIR, "perf events",
			"%s; --sample needs them (or --sample-clock wall), --counters has others",
			why);
	else
		print_grade(GOOD, "perf events",
			    "perf_event_paranoid is %ld; --counters and --sample use "
			    "them (kymo list counters)",
			    perf);
	check_stacks(perf, why[0] ? why : NULL);
	check_attach(ptrace);
}

struct devices {
	unsigned counts[KYMO_AGENT_OTHER + 1];
	struct text missing;
};

static kymo_status_t count_device(const kymo_agent_t *a, void *data)
{
	((struct devices *)data)->counts[a->type] += a->parent == 0;
	return KYMO_OK;
}

/* What is merely not there is told in one line; what is there and cannot be read in a line each. */
static kymo_status_t check_source(const kymo_agent_source_t *s, void *data)
{
	struct devices *d = data;

	if (s->status == KYMO_ERROR_NOT_FOUND || s->status == KYMO_ERROR_UNSUPPORTED)
		text_addf(&d->missing, "%s%s: %s", d->missing.length ? "; " : "", s->name, s->text);
	else if (s->status != KYMO_OK)
		print_grade(FAIR, "devices", "%s: %s", s->name, s->text);
	return KYMO_OK;
}

static void check_devices(void)
{
	struct devices d = {.counts = {0}};
	struct text found = {0};

	kymo_agents(count_device, &d);
	for (int type = KYMO_AGENT_CPU; type <= KYMO_AGENT_OTHER; type++)
		if (d.counts[type])
			text_addf(&found, "%s%u %s", found.length ? ", " : "", d.counts[type],
				  kymo_agent_type_name((kymo_agent_type_t)type));
	print_grade(found.length ? GOOD : FAIR, "devices", "%s; kymo list devices shows them",
		    found.length ? found.s : "none are known");
	kymo_agent_sources(check_source, &d);
	if (d.missing.length)
		print_grade(GOOD, "devices", "nothing from %s", d.missing.s);
	text_release(&found);
	text_release(&d.missing);
}

static void check_room(void)
{
	struct statvfs fs;
	char cwd[PATH_MAX];

	if (!getcwd(cwd, sizeof(cwd)) || statvfs(cwd, &fs) != 0) {
		print_grade(FAIR, "traces", "the working directory cannot be looked at: %s",
			    strerror(errno));
		return;
	}
	if (access(cwd, W_OK) != 0)
		print_grade(FAIR, "traces", "%s cannot be written to: name another place with -o",
			    cwd);
	else
		print_grade((uint64_t)fs.f_bavail * fs.f_frsize < (1u << 30) ? FAIR : GOOD,
			    "traces", "%.1f GiB free in %s",
			    (double)fs.f_bavail * (double)fs.f_frsize / (double)(1u << 30), cwd);
}

/* The library in the program cannot complain about these: it must not print. */
static void check_variables(void)
{
	char error[KNOB_ERROR_MAX];

	knob_defaults(&run_options_table);
	if (knob_parse_environment(&run_options_table, error))
		print_grade(GOOD, "environment", "KYMO_ variables are in order");
	else
		print_grade(BAD, "environment",
			    "%s: a program with Kymo preloaded by hand is not recorded", error);
}

/* ---- backends ---- */

static void say_backend(enum launch_grade grade, const char *what, const char *text)
{
	print_grade((enum grade)grade, what, "%s", text);
}

/* A library that is named already gets what Kymo would. */
static void check_tools(struct text *t)
{
	for (const struct kymo_launch *const *l = launch_table; *l; l++) {
		const char *variable = (*l)->tool.variable,
			   *value = variable ? getenv(variable) : NULL;

		if (value && *value && !(*l)->tool.separator && !strstr(value, "/libkymo"))
			text_addf(t,
				  "%s%s names %s: that tool gets what Kymo would record, unset it",
				  t->length ? "; " : "", variable, value);
	}
}

static void check_annotations(void)
{
	const struct kymo_launch *all[LAUNCH_MOST];
	struct text bad = {0}, good = {0};

	check_tools(&bad);
	launch_annotations(all);
	for (unsigned i = 0; all[i]; i++)
		text_addf(&good, "%s%s", i ? ", " : "", all[i]->annotation);
	if (bad.length)
		print_grade(FAIR, "annotations", "%s", bad.s);
	else
		print_grade(GOOD, "annotations", "%s and Kymo's own are recorded", good.s);
	text_release(&bad);
	text_release(&good);
}

static void check_backends(void)
{
	const struct launch_doctor d = {cli_libdir(), telemetry_root(), say_backend};
	const struct kymo_launch *all[LAUNCH_MOST];
	bool annotations = false;

	launch_told_order(all);
	for (unsigned i = 0; all[i]; i++) {
		if (!annotations && (!all[i]->told || all[i]->told >= LAUNCH_TOLD_LATER)) {
			check_annotations();
			annotations = true;
		}
		if (all[i]->doctor)
			all[i]->doctor(&d);
	}
}

/* ---- telemetry: what is merely not there in one line, what cannot be read in a line each ---- */

struct telemetry_found {
	struct text good, missing;
};

static void found_source(void *data, const char *name, const char *about, unsigned values,
			 uint64_t read_ns)
{
	struct telemetry_found *f = data;

	text_addf(&f->good, "%s%s (%u)", f->good.length ? ", " : "", name, values);
}

static void missing_source(void *data, const char *source, const char *text, bool denied)
{
	struct telemetry_found *f = data;

	if (denied)
		print_grade(FAIR, "telemetry", "%s: %s", source, text);
	else
		text_addf(&f->missing, "%s%s: %s", f->missing.length ? "; " : "", source, text);
}

static void check_telemetry(void)
{
	struct telemetry_found f = {{0}, {0}};
	struct telemetry_visitor v = {NULL, found_source, missing_source, &f};

	telemetry_look(telemetry_root(), &v);
	if (f.good.length)
		print_grade(GOOD, "telemetry", "%s; kymo list telemetry shows values", f.good.s);
	if (f.missing.length)
		print_grade(GOOD, "telemetry", "nothing from %s", f.missing.s);
	text_release(&f.good);
	text_release(&f.missing);
}

static void check_rewriting(void)
{
	static struct clang c;
	char why[LIBRARY_WHY];

	if (clang_load(&c, why))
		print_grade(GOOD, "kernels by line",
			    "OpenCL programs are rewritten with clang %d (%s, %s)", c.version,
			    c.library, c.program);
	else
		print_grade(GOOD, "kernels by line",
			    "OpenCL programs cannot be rewritten, kernels not counted by line: %s",
			    why);
}

/* What drains that were killed could not remove. */
static void tell_left_over(const char *folder, unsigned n)
{
	print_grade(GOOD, "left over", "%u %s killed; what %s left behind in %s is removed", n,
		    n == 1 ? "recording was" : "recordings were", n == 1 ? "it" : "they", folder);
}

static int run_doctor(int argc, char **argv)
{
	if (argc)
		return cli_usage("doctor", "doctor takes no operand, not \"%s\"", argv[0]);
	check_libraries();
	check_variables();
	check_backends();
	check_rewriting();
	print_grade(GOOD, "kernels",
		    "out of reach: instructions of Intel's GPUs (GTPin is a closed binary) and of "
		    "AMD's (needs ROCm's compiler when the program is built); docs/handlers.md");
	check_ticks();
	check_memfd();
	check_pidfd();
	check_kernel_settings();
	check_devices();
	check_telemetry();
	check_room();
	place_sweep(tell_left_over);
	return anything_bad ? CLI_NO : CLI_OK;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "Show what works here, and why the rest does not",
	.about = "Exit status 1 if something that recording needs does not work.",
	.run = run_doctor,
};
