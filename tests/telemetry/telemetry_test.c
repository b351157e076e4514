/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry without hardware: values from a tree of files of our own (hostile ones too), totals that
 * wrap, begin anew and fail, libraries that are fakes, the sampler's file, one sampler a node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "formats/raw/read.h"
#include "telemetry/job.h"
#include "telemetry/library.h"
#include "telemetry/meter.h"
#include "telemetry/perf_list.h"
#include "telemetry/telemetry.h"
#include "telemetry/values.h"

static char folder[64], root[128];

static void put_bytes(const char *name, const void *data, size_t n)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_true(file_make_parents(path, 0777));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), n);
	close(fd);
}

static void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

/* ---- values --------------------------------------------------------------------------------- */

static int number(const char *name, int64_t *out)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return value_number(path, out);
}

static void test_numbers(void **state)
{
	int64_t v = -1;

	put("n/plain", "42\n");
	assert_int_equal(number("n/plain", &v), 0);
	assert_int_equal(v, 42);
	put("n/minus", " -7 \n");
	assert_int_equal(number("n/minus", &v), 0);
	assert_int_equal(v, -7);
	put("n/empty", "");
	assert_int_equal(number("n/empty", &v), ENODATA);
	put("n/word", "none\n");
	assert_int_equal(number("n/word", &v), EBADMSG);
	put("n/two", "1 2\n");
	assert_int_equal(number("n/two", &v), EBADMSG);
	put("n/hex", "0x10\n");
	assert_int_equal(number("n/hex", &v), EBADMSG);
	put("n/large", "99999999999999999999\n");
	assert_int_equal(number("n/large", &v), EBADMSG);
	put_bytes("n/nul", "4\0002\n", 4);
	assert_int_equal(number("n/nul", &v), EBADMSG);
	assert_int_equal(number("n/absent", &v), ENOENT);
	assert_int_equal(number("n", &v), EBADMSG); /* a folder */
}

static void test_hostile_files(void **state)
{
	char *huge = malloc(8 << 20), path[512], line[32];
	int64_t v;

	memset(huge, '7', 8 << 20);
	put_bytes("h/huge", huge, 8 << 20);
	assert_int_equal(number("h/huge", &v), EBADMSG);
	memset(huge, 0xff, 8 << 20);
	put_bytes("h/binary", huge, 8 << 20);
	assert_int_equal(number("h/binary", &v), EBADMSG);
	free(huge);
	snprintf(path, sizeof(path), "%s/h/pipe", root);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(number("h/pipe", &v), EBADMSG); /* and does not wait for a writer */
	put("h/label", "a\033[31m\xc3\xa4 b\nsecond\n");
	snprintf(path, sizeof(path), "%s/h/label", root);
	assert_int_equal(value_line(path, line, sizeof(line)), 0);
	assert_string_equal(line, "a[31m b");
}

/* What is replaced under an open file is seen when the old one can no longer be read. */
static void test_file_stays_open(void **state)
{
	struct value_file f;
	int64_t v;

	put("o/value", "1\n");
	value_file_init(&f, "%s/o/value", root);
	assert_int_equal(value_file_number(&f, &v), 0);
	put("o/value", "22\n");
	assert_int_equal(value_file_number(&f, &v), 0);
	assert_int_equal(v, 22);
	close(f.fd); /* as if the device had gone: reading fails, it is opened again */
	assert_int_equal(value_file_number(&f, &v), 0);
	assert_int_equal(v, 22);
	value_file_close(&f);
}

static void test_stat_of_process(void **state)
{
	struct job_stat s;

	assert_true(
		job_stat_parse("12 (a) R 1 (b) S 11 12 12 0 -1 4194560 100 30 7 4 5 6 8 9 20 0 3 0 "
			       "4242 1000 25 18446744073709551615",
			       &s));
	assert_int_equal(s.pid, 12);
	assert_int_equal(s.ppid, 11);
	assert_int_equal(s.own.minor, 100);
	assert_int_equal(s.own.major, 7);
	assert_int_equal(s.own.cpu, 11 * (1000000000 / sysconf(_SC_CLK_TCK)));
	assert_int_equal(s.waited.minor, 30);
	assert_int_equal(s.waited.major, 4);
	assert_int_equal(s.waited.cpu, 17 * (1000000000 / sysconf(_SC_CLK_TCK)));
	assert_int_equal(s.threads, 3);
	assert_int_equal(s.start, 4242);
	assert_int_equal(s.rss, 25 * sysconf(_SC_PAGESIZE));
	assert_false(s.ended);
	assert_true(
		job_stat_parse("1 (z) Z 11 12 12 0 -1 4 1 0 7 0 5 6 0 0 20 0 3 0 42 1 25 1", &s));
	assert_true(s.ended);
	assert_false(job_stat_parse("1 (z) Z 11 12", &s));
	assert_false(job_stat_parse("", &s));
	assert_false(job_stat_parse(")", &s));
	assert_false(job_stat_parse("1 (x) R x y", &s));
}

static void process(int pid, int ppid, const char *name)
{
	char path[64], text[200];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text), "%d (%s) S %d 1 1 0 -1 4 100 0 7 0 5 6 0 0 20 0 1 0 42 1 25 1",
		 pid, name, ppid);
	put(path, text);
}

static void test_processes_of_job(void **state)
{
	static struct job_process list[JOB_PROCESSES];
	int programs[] = {100, 300};
	unsigned count = 0;

	process(1, 0, "init");
	process(90, 1, "kymo");
	process(100, 90, "a.out");
	process(101, 102, "grandchild"); /* listed before its parent */
	process(102, 100, "child");
	process(200, 1, "other");
	process(201, 200, "other's");
	process(300, 1, "b.out");
	assert_int_equal(job_find(root, programs, 2, list, &count), 0);
	assert_int_equal(count, 4);
	/* One whose parents are gone stays. */
	process(101, 1, "grandchild");
	assert_int_equal(job_find(root, programs, 2, list, &count), 0);
	assert_int_equal(count, 4);
}

/* ---- counters of whole processors ------------------------------------------------------------ */

static bool events(struct perf_list *l, const char *list, char *error)
{
	error[0] = '\0';
	return perf_list_parse(l, root, list, error, 300);
}

static void test_lists_of_counters(void **state)
{
	struct perf_list l;
	char error[300];

	assert_int_equal(perf_item("a,b"), 1);
	assert_int_equal(perf_item("a:cpu=0,2-3,b"), 11);
	assert_int_equal(perf_item("p/event=1,umask=2/,b"), 18);
	assert_int_equal(perf_item("p/event=1,umask=2/:cpu=1,2,b:cpu=3"), 26);
	assert_int_equal(perf_item("a:device=0,2,b"), 12);
	assert_int_equal(perf_item("a/b,c"), 3); /* not closed: told later */
	assert_int_equal(perf_item(""), 0);
	assert_true(perf_over_time("a:cpu=0", 7));
	assert_false(perf_over_time("a,b:cpu=0", 1));
	put("proc/stat", "cpu  1 1 1 1\ncpu0 1 1 1 1\ncpu2 1 1 1 1\ncpu10 1 1 1 1\nintr 1\n");
	put("sys/bus/event_source/devices/u_0/type", "42\n");
	put("sys/bus/event_source/devices/u_0/cpumask", "0,10\n");
	put("sys/bus/event_source/devices/u_0/format/event", "config:0-3,32-35\n");
	put("sys/bus/event_source/devices/u_0/format/umask", "config1:8-15\n");
	put("sys/bus/event_source/devices/u_0/format/edge", "config2:18\n");
	put("sys/bus/event_source/devices/u_0/format/bad", "config9:18\n");
	put("sys/bus/event_source/devices/u_0/events/x", "event=0xab,umask=0x1,edge\n");
	put("sys/bus/event_source/devices/u_0/events/y", "event=0x1ff\n");
	put("sys/bus/event_source/devices/u_0/events/z", "\xff\x01,=,event=\n");
	put("sys/bus/event_source/devices/u_1/type", "43\n");
	put("sys/bus/event_source/devices/u_1/format/event", "config:0-7\n");
	put("sys/bus/event_source/devices/u_1/events/x", "event=0xcd\n");
	assert_true(events(&l, "u/x/,perf:cpu-clock:cpu=2,10", error));
	assert_int_equal(l.count, 3);
	assert_int_equal(l.at[0].attr.type, 42);
	assert_int_equal(l.at[0].attr.config, 0xbull | 0xaull << 32);
	assert_int_equal(l.at[0].attr.config1, 1 << 8);
	assert_int_equal(l.at[0].attr.config2, 1 << 18);
	assert_int_equal(l.at[0].cpus.count, 2); /* its own */
	assert_int_equal(l.at[0].cpus.at[1].first, 10);
	assert_int_equal(l.at[1].attr.type, 43);
	assert_int_equal(l.at[1].attr.config, 0xcd);
	assert_int_equal(l.at[1].cpus.count, 3); /* all that are there */
	assert_int_equal(l.at[2].cpus.count, 2);
	assert_int_equal(l.at[2].cpus.at[0].first, 2);
	perf_list_release(&l);
	const char *const wrong[] = {"u_0/y/",
				     "u_0/z/",
				     "u_0/bad=1/",
				     "u_0/event/x/",
				     "u_0//",
				     "v/x/",
				     "u_0/x/:cpu=2",
				     "cpu-clock:cpu=1",
				     "cpu-clock:cpu=2-10",
				     "cpu-clock:cpu=99999999999999999999",
				     "a:cpu=0",
				     ":cpu=0",
				     "/x/"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_false(events(&l, wrong[i], error));
		assert_true(error[0]);
		perf_list_release(&l);
	}
}

/* ---- the meter ------------------------------------------------------------------------------ */

static void *no_open(struct probe *p)
{
	return p;
}

static void no_read(struct probe *p, void *s)
{
}

static void no_close(void *s)
{
}

static const struct source test_source = {
	.name = "test", .about = "a test", .open = no_open, .read = no_read, .close = no_close};

static struct meter meter;

static uint32_t total(struct probe *p, uint64_t wrap)
{
	return meter_metric(p, &(struct metric_info){.name = "t",
						     .unit = "J",
						     .kind = METRIC_TOTAL,
						     .scale = 0.001,
						     .wrap = wrap});
}

static void test_totals(void **state)
{
	struct probe p;
	struct growth g;
	uint32_t id;

	meter_init(&meter, "");
	assert_true(probe_open(&p, &meter, &test_source));
	id = total(&p, 1000);
	meter_before(&p);
	assert_false(meter_total(&p, id, 400, &g)); /* where it begins */
	meter_before(&p);
	assert_true(meter_total(&p, id, 900, &g));
	assert_true(fabs(g.value - 0.5) < 1e-9 && g.seconds > 0);
	meter_before(&p);
	assert_true(meter_total(&p, id, 100, &g)); /* over 1000, on to 100 */
	assert_true(fabs(g.value - 0.2) < 1e-9);
	meter_gap(&p, id, "gone"); /* what grew meanwhile is not lost */
	meter_before(&p);
	assert_true(meter_total(&p, id, 150, &g));
	assert_true(fabs(g.value - 0.05) < 1e-9);
	assert_int_equal(meter.metrics[id - 1]->gaps, 1);

	id = total(&p, 0);
	meter_before(&p);
	meter_total(&p, id, 500, &g);
	meter_before(&p);
	assert_false(meter_total(&p, id, 10, &g)); /* the driver was loaded again */
	meter_before(&p);
	assert_true(meter_total(&p, id, 30, &g));
	assert_true(fabs(g.value - 0.02) < 1e-9);
	assert_int_equal(meter.metrics[id - 1]->gaps, 1);
	assert_int_equal(meter.metrics[id - 1]->values, 1);
	meter_level(&p, id, NAN);
	meter_level(&p, 0, 1); /* nothing that there was room for */
	assert_int_equal(meter.metrics[id - 1]->values, 1);
	meter_release(&meter);
}

/* What there is no room for is counted. */
static void test_too_many(void **state)
{
	struct probe p;

	meter_init(&meter, "");
	assert_true(probe_open(&p, &meter, &test_source));
	for (uint32_t i = 1; i <= METER_METRICS; i++)
		assert_int_equal(total(&p, 0), i);
	assert_int_equal(meter.refused, 0);
	assert_int_equal(total(&p, 0), 0);
	assert_int_equal(meter.metric_count, METER_METRICS);
	assert_int_equal(meter.refused, 1);
	assert_false(meter_shown(&p, 0));
	meter_release(&meter);
}

static void test_power_over_time(void **state)
{
	struct probe p;
	struct metric *k;
	uint32_t id;

	meter_init(&meter, "");
	probe_open(&p, &meter, &test_source);
	id = meter_metric(
		&p, &(struct metric_info){.name = "energy", .unit = "J", .kind = METRIC_TOTAL});
	k = meter.metrics[id - 1];
	meter_before(&p);
	meter_integrate(&p, id, 100);
	assert_int_equal(k->values, 0);
	meter_before(&p);
	meter_integrate(&p, id, 200);
	assert_int_equal(k->values, 1);
	assert_true(fabs(k->shown - 150) < 1e-6); /* W, on average */
	meter_gap(&p, id, "gone");
	meter_before(&p);
	meter_integrate(&p, id, 200); /* not over the gap */
	assert_int_equal(k->values, 1);
	meter_release(&meter);
}

static void test_devices_are_joined(void **state)
{
	struct probe p;
	uint8_t uuid[16], other[16] = {1};
	uint32_t a;

	assert_true(library_uuid("GPU-deadbeef-0506-0708-090a-0b0c0d0e0f10", uuid));
	assert_int_equal(uuid[0], 0xde);
	assert_int_equal(uuid[15], 0x10);
	assert_false(library_uuid("GPU-deadbeef", uuid));
	assert_false(library_uuid("GPU-deadbeef-0506-0708-090a-0b0c0d0e0f10ff", other));
	assert_false(library_uuid("GPU-xx", other));
	library_uuid("GPU-deadbeef-0506-0708-090a-0b0c0d0e0f10", uuid);
	meter_init(&meter, "");
	probe_open(&p, &meter, &test_source);
	a = meter_device(
		&p, &(struct device_info){
			    .type = "gpu", .name = "a\n\x01", .pci = "0000:3b:00.0", .uuid = uuid});
	assert_int_equal(a, 1);
	assert_string_equal(meter.devices[0].name, "a??");
	assert_int_equal(meter_device(&p, &(struct device_info){.type = "gpu",
								.name = "b",
								.pci = "0000:3B:00.0"}),
			 a);
	assert_int_equal(
		meter_device(&p, &(struct device_info){.type = "gpu", .name = "b", .uuid = uuid}),
		a);
	assert_int_equal(meter_device(&p, &(struct device_info){.type = "gpu",
								.name = "c",
								.pci = "0000:3c:00.0"}),
			 2);
	meter_release(&meter);
}

/* ---- looking -------------------------------------------------------------------------------- */

struct seen {
	char text[65536];
	size_t n;
};

static void see_value(void *data, const struct telemetry_value *v)
{
	struct seen *s = data;

	s->n += (size_t)snprintf(s->text + s->n, sizeof(s->text) - s->n, "%s|%s|%s|%s%s|%s\n",
				 v->source, v->device, v->name, v->unit, v->per_second ? "/s" : "",
				 v->known ? "known" : "unknown");
}

static void see_source(void *data, const char *name, const char *about, unsigned values,
		       uint64_t ns)
{
}

static void see_missing(void *data, const char *source, const char *text, bool denied)
{
	struct seen *s = data;

	s->n += (size_t)snprintf(s->text + s->n, sizeof(s->text) - s->n, "%s %s: %s\n",
				 denied ? "denied" : "missing", source, text);
}

static void tree(void)
{
	put("proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0 0 0\n");
	put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n");
	put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n");
	put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1200000\n");
	put("sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "<unknown>\n");
	put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
	put("sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
	put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
	put("sys/class/powercap/intel-rapl:0:0/name", "dram\n");
	put("sys/class/powercap/intel-rapl:0:0/energy_uj", "7\n");
	put("sys/class/powercap/intel-rapl:1/energy_uj", "junk\n");
	put("sys/class/powercap/intel-rapl-mmio:0/energy_uj", "7\n");
	put("sys/class/hwmon/hwmon0/name", "amdgpu\n");
	put("sys/class/hwmon/hwmon0/temp1_input", "45000\n");
	put("sys/class/hwmon/hwmon0/temp1_label", "edge now\n");
	put("sys/class/hwmon/hwmon0/power1_average", "30000000\n");
	put("sys/class/hwmon/hwmon0/temp2_input", "");
	put("sys/class/hwmon/hwmon0/in0_input", "800\n");
	put("sys/class/hwmon/hwmon1/temp1_input", "1\n"); /* without a name */
}

static void test_tree(void **state)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct telemetry_visitor v = {see_value, see_source, see_missing, s};

	tree();
	telemetry_look(root, &v);
	assert_non_null(strstr(s->text, "cpu||cpu.frequency|MHz|known\n"));
	assert_non_null(strstr(s->text, "psi||pressure.cpu.some|%|known\n"));
	assert_non_null(strstr(s->text, "rapl|CPU package 0|energy|J/s|known\n"));
	assert_non_null(strstr(s->text, "rapl|CPU package 0|energy.dram|J/s|known\n"));
	assert_non_null(strstr(s->text, "hwmon|amdgpu|temperature.edge_now|C|known\n"));
	assert_non_null(strstr(s->text, "hwmon|amdgpu|power.1|W|known\n"));
	assert_non_null(strstr(s->text, "hwmon|amdgpu|energy.1|J/s|known\n"));
	assert_non_null(strstr(s->text, "hwmon|amdgpu|voltage.0|V|known\n"));
	assert_null(strstr(s->text, "temperature.2"));
	assert_null(strstr(s->text, "package 1|"));
	assert_non_null(
		strstr(s->text, "denied rapl: intel-rapl:1/energy_uj: it held no number\n"));
	/* What is merely not there is not told as a fault. */
	assert_non_null(strstr(s->text, "missing psi: /proc/pressure/memory"));
	free(s);
}

static const struct metric *metric_called(const char *name)
{
	uint32_t i = 0;

	while (i < meter.metric_count && strcmp(meter.metrics[i]->info.name, name) != 0)
		i++;
	assert_true(i < meter.metric_count);
	return meter.metrics[i];
}

static void expect_joules(const struct metric *energy, const char *power, uint64_t since,
			  double joules)
{
	double seconds = (double)(energy->last_ns - since) / 1e9;

	assert_int_equal(energy->gaps, 0);
	assert_int_equal(energy->values, 1);
	assert_true(fabs(energy->shown * seconds - joules) < 1e-6);
	assert_true(fabs(metric_called(power)->shown * seconds - joules) < 1e-6);
}

/* The energy of a package and of its part, each over the end of its own range. */
static void test_energy_wraps(void **state)
{
	const struct source *const *rapl = telemetry_sources;
	const struct metric *package, *part;
	uint64_t package_ns, part_ns;
	struct probe p;

	tree();
	put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "9000000\n");
	put("sys/class/powercap/intel-rapl:0:0/max_energy_range_uj", "3000000\n");
	while (*rapl && strcmp((*rapl)->name, "rapl") != 0)
		rapl++;
	assert_non_null(*rapl);
	meter_init(&meter, root);
	assert_true(probe_open(&p, &meter, *rapl));
	package = metric_called("energy");
	part = metric_called("energy.dram");
	probe_read(&p);
	package_ns = package->last_ns;
	part_ns = part->last_ns;
	put("sys/class/powercap/intel-rapl:0/energy_uj", "2000000\n");
	put("sys/class/powercap/intel-rapl:0:0/energy_uj", "6\n");
	probe_read(&p);
	expect_joules(package, "power", package_ns, 6);
	expect_joules(part, "power.dram", part_ns, 2.999999);
	probe_close(&p);
	meter_release(&meter);
}

static void test_libraries(void **state)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct telemetry_visitor v = {see_value, see_source, see_missing, s};

	telemetry_look(root, &v);
	assert_non_null(strstr(s->text, "nvml|Fake GPU|power|W|known\n"));
	assert_non_null(strstr(s->text, "nvml|Fake GPU|energy|J/s|known\n"));
	assert_non_null(strstr(s->text, "nvml|Fake GPU|nvlink.sent|bytes/s|known\n"));
	assert_non_null(strstr(s->text, "nvml|Fake GPU|pcie.sent.rate|bytes/s|known\n"));
	assert_null(strstr(s->text, "nvml|Fake GPU|pcie.sent|"));
	assert_non_null(strstr(s->text, "nvml|Fake GPU|pcie.received.rate|bytes/s|known\n"));
	assert_null(strstr(s->text, "nvml|Fake GPU|pcie.received|"));
	assert_non_null(strstr(s->text, "rocm_smi|Fake Instinct|energy|J/s|known\n"));
	assert_non_null(strstr(s->text, "rocm_smi|Fake Instinct|utilisation|%|known\n"));
	assert_null(strstr(s->text, "Instinct|utilisation.memory"));
	assert_non_null(strstr(s->text, "sysman|Fake Xe|power|W|known\n"));
	assert_non_null(strstr(s->text, "sysman|Fake Xe|utilisation.compute|%|known\n"));
	assert_non_null(strstr(s->text, "sysman|Fake Xe|clock.memory|MHz|unknown\n"));
	free(s);
}

/* ---- the sampler ---------------------------------------------------------------------------- */

struct collected {
	struct stream_sink sink; /* first */
	const struct trace *trace;
	unsigned values;
	double joules, heat;
	unsigned heats, zeros;
	int64_t last;
	bool ordered;
};

static kymo_status_t on_counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct collected *c = (struct collected *)(void *)s;
	const struct t_counter *k = &c->trace->counters[r->counter];

	c->values++;
	c->ordered &= r->base.end >= r->base.start;
	if (strcmp(k->name, "energy") == 0 && strcmp(k->provider, "rapl") == 0)
		c->joules += r->value;
	if (strcmp(k->name, "temperature.edge_now") == 0) {
		c->heats++;
		c->heat += r->value;
		c->zeros += r->value == 0;
	}
	return KYMO_OK;
}

static void on_message(struct stream_log *l, int severity, const char *text)
{
	print_message("%s\n", text);
}

static struct stream_log quiet = {on_message};

static void collect(const char *trace, struct collected *c)
{
	struct format_options o = {.log = &quiet};
	struct raw_trace *rt;

	memset(c, 0, sizeof(*c));
	c->ordered = true;
	c->sink.counter = on_counter;
	assert_int_equal(raw_trace_open(trace, &quiet, &rt), KYMO_OK);
	c->trace = raw_trace_definitions(rt);
	assert_int_equal(raw_trace_read(rt, NULL, true, &c->sink, &o), KYMO_OK);
	assert_true(c->trace->processes_count >= 2);
	assert_true(c->trace->processes[1].telemetry);
	raw_trace_close(rt);
}

static char *new_trace(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s.kymo/raw/x", folder, name);
	assert_true(file_make_parents(path, 0777));
	snprintf(path, sizeof(path), "%s/%s.kymo", folder, name);
	return path;
}

static struct telemetry *start(const char *trace)
{
	struct telemetry_options o = {.trace = trace,
				      .root = root,
				      .interval_ns = 10 * MILLISECOND,
				      .program = 100,
				      .compress = true};
	struct telemetry *t = telemetry_start(&o);

	assert_non_null(t);
	return t;
}

/* Files of telemetry in the trace; waits until there are `wanted`, a bounded time. */
static unsigned files(const char *trace, unsigned wanted)
{
	struct timespec nap = {0, 2000000};
	char host[64] = "", path[320];
	unsigned n = 0;

	gethostname(host, sizeof(host) - 1);
	for (unsigned tries = 0; tries < 2500; tries++) {
		n = 0;
		do {
			snprintf(path, sizeof(path), "%s/raw/%.48s-telemetry-%u.kyr", trace, host,
				 n);
		} while (access(path, F_OK) == 0 && ++n);
		if (n >= wanted)
			break;
		nanosleep(&nap, NULL);
	}
	return n;
}

static void test_file(void **state)
{
	const char *trace = new_trace("file");
	struct collected c;
	struct telemetry *t;

	tree();
	t = start(trace);
	assert_int_equal(files(trace, 1), 1);
	assert_int_equal(telemetry_stop(t), 0);
	collect(trace, &c);
	assert_true(c.values > 20);
	assert_true(c.ordered);
	assert_true(c.heats >= 2); /* when it was opened, and at the end */
	assert_int_equal(c.zeros, 0);
	assert_true(fabs(c.heat / c.heats - 45) < 1e-6);
	assert_true(c.joules == 0); /* the count stood still */
}

static void test_one_sampler_of_a_node(void **state)
{
	const char *trace = new_trace("node");
	struct telemetry *a = start(trace), *b;
	char lines[64] = "", path[320], host[64] = "";
	int fd;

	assert_int_equal(files(trace, 1), 1);
	b = start(trace);
	assert_int_equal(telemetry_stop(b), 0); /* never had a turn */
	assert_int_equal(files(trace, 1), 1);
	b = start(trace);
	assert_int_equal(telemetry_stop(a), 0);
	assert_int_equal(files(trace, 2), 2); /* now it has */
	assert_int_equal(telemetry_stop(b), 0);
	gethostname(host, sizeof(host) - 1);
	snprintf(path, sizeof(path), "%s/raw/%.48s-telemetry.lock", trace, host);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, lines, sizeof(lines) - 1), 36);
	close(fd);
	assert_string_equal(lines, "100        \n100        \n100        \n");
}

/* libc's, of which there may be one more: before one of them a drain sweeps what has no name yet. */
static _Atomic unsigned sweeps;

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
	unsigned left = atomic_load(&sweeps);

	if (left && atomic_compare_exchange_strong(&sweeps, &left, left - 1))
		unlink(from);
	return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

static void test_drain_goes_meanwhile(void **state)
{
	const char *trace = new_trace("swept");
	struct collected c;
	struct telemetry *t;

	atomic_store(&sweeps, 1);
	t = start(trace);
	assert_int_equal(files(trace, 1), 1);
	assert_int_equal(telemetry_stop(t), 0);
	assert_int_equal(atomic_load(&sweeps), 0);
	collect(trace, &c);
	assert_true(c.values > 0);
}

static void test_no_place(void **state)
{
	struct telemetry *t = start("/nonexistent");

	assert_int_equal(telemetry_stop(t), ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_hostile_files),
		cmocka_unit_test(test_file_stays_open),
		cmocka_unit_test(test_stat_of_process),
		cmocka_unit_test(test_processes_of_job),
		cmocka_unit_test(test_lists_of_counters),
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_power_over_time),
		cmocka_unit_test(test_devices_are_joined),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_energy_wraps),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_one_sampler_of_a_node),
		cmocka_unit_test(test_drain_goes_meanwhile),
		cmocka_unit_test(test_no_place),
	};
	int failed;

	strcpy(folder, "/tmp/kymo-telemetry-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	snprintf(root, sizeof(root), "%s/root", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	file_remove_tree(folder);
	return failed;
}
