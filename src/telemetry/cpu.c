/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All processors of the node together: how busy they are, from /proc/stat, and how fast they run,
 * from cpufreq or else /proc/cpuinfo. Frequencies cost an interrupt of each processor on some
 * machines, so they are read at most twice a second, and of 64 processors at most.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/source.h"
#include "telemetry/values.h"

enum { CPUS_READ = 64, FREQUENCY_NS = 500000000 };

enum time {
	TIME_USER,
	TIME_NICE,
	TIME_SYSTEM,
	TIME_IDLE,
	TIME_IOWAIT,
	TIME_IRQ,
	TIME_SOFTIRQ,
	TIME_STEAL,
	TIMES
};

struct cpu {
	struct value_file stat, cpuinfo;
	struct value_file *frequency; /* of each processor, may be none */
	unsigned frequencies;
	uint64_t times[TIMES];
	bool begun;
	uint64_t next_frequency;
	uint32_t busy, user, system, iowait, steal, mean, low, high;
	char text[1 << 17];
};

static bool read_times(struct cpu *c, uint64_t out[TIMES], int *error)
{
	char line[512], *p = line + 3;
	size_t n;

	*error = value_file_text(&c->stat, line, sizeof(line), &n);
	if (*error)
		return false;
	*error = EBADMSG;
	if (strncmp(line, "cpu ", 4) != 0)
		return false;
	for (unsigned i = 0; i < TIMES; i++) {
		char *end;

		while (*p == ' ')
			p++;
		if (!isdigit((unsigned char)*p)) {
			if (i <= TIME_IDLE)
				return false;
			out[i] = 0; /* an older kernel tells fewer */
			continue;
		}
		out[i] = strtoull(p, &end, 10);
		p = end;
	}
	*error = 0;
	return true;
}

static uint32_t level_metric(struct probe *p, const char *name, const char *unit, const char *what)
{
	return meter_metric(p,
			    &(struct metric_info){.name = name, .unit = unit, .description = what});
}

static void find_frequencies(struct cpu *c, const char *root)
{
	char path[PATH_MAX];
	struct dirent **names = NULL;
	int count;

	snprintf(path, sizeof(path), "%.*s/sys/devices/system/cpu", PATH_MAX - 64, root);
	count = scandir(path, &names, NULL, versionsort);
	c->frequency = count > 0 ? calloc(CPUS_READ, sizeof(*c->frequency)) : NULL;
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		struct value_file *f = &c->frequency[c->frequencies];
		int64_t khz;

		if (c->frequency && c->frequencies < CPUS_READ && strncmp(name, "cpu", 3) == 0 &&
		    isdigit((unsigned char)name[3])) {
			value_file_init(f, "%s/%.20s/cpufreq/scaling_cur_freq", path, name);
			if (value_file_number(f, &khz) == 0)
				c->frequencies++;
		}
		free(names[i]);
	}
	free(names);
}

static bool cpuinfo_has_clock(struct cpu *c)
{
	size_t n;

	return value_file_text(&c->cpuinfo, c->text, sizeof(c->text), &n) == 0 &&
	       strstr(c->text, "\ncpu MHz") != NULL;
}

static void *cpu_open(struct probe *p)
{
	struct cpu *c = calloc(1, sizeof(*c));
	uint64_t times[TIMES];
	int error;

	if (!c)
		return NULL;
	value_file_init(&c->stat, "%s/proc/stat", meter_root(p));
	value_file_init(&c->cpuinfo, "%s/proc/cpuinfo", meter_root(p));
	if (!read_times(c, times, &error)) {
		meter_denied(p, "/proc/stat: %s", value_error(error));
		value_file_close(&c->stat);
		free(c);
		return NULL;
	}
	c->busy = level_metric(p, "cpu.utilisation", "%",
			       "Time in which processors were not idle, of all of them");
	c->user = level_metric(p, "cpu.user", "%", "Time of processors in programs");
	c->system = level_metric(p, "cpu.system", "%",
				 "Time of processors in the kernel, interrupts included");
	c->iowait = level_metric(p, "cpu.iowait", "%",
				 "Time of idle processors with input or output under way");
	c->steal = level_metric(p, "cpu.steal", "%",
				"Time that the machine below this virtual one took");
	find_frequencies(c, meter_root(p));
	if (!c->frequencies && !cpuinfo_has_clock(c)) {
		meter_missing(p, "no frequencies: neither cpufreq nor /proc/cpuinfo has them");
		return c;
	}
	c->mean = level_metric(p, "cpu.frequency", "MHz", "Frequency of processors, on average");
	c->low = level_metric(p, "cpu.frequency.min", "MHz", "Frequency of the slowest processor");
	c->high = level_metric(p, "cpu.frequency.max", "MHz", "Frequency of the fastest processor");
	return c;
}

static double percent_between(const uint64_t *now, const uint64_t *then, unsigned first,
			      unsigned last, double whole)
{
	uint64_t sum = 0;

	for (unsigned i = first; i <= last; i++)
		sum += now[i] > then[i] ? now[i] - then[i] : 0; /* iowait may go back */
	return 100 * (double)sum / whole;
}

static void read_busy(struct probe *p, struct cpu *c)
{
	uint64_t now[TIMES];
	double whole = 0, idle, iowait;
	int error;

	meter_before(p);
	if (!read_times(c, now, &error)) {
		meter_gap(p, c->busy, value_error(error));
		return;
	}
	for (unsigned i = 0; i < TIMES; i++)
		whole += now[i] > c->times[i] ? (double)(now[i] - c->times[i]) : 0;
	if (c->begun && whole > 0) {
		idle = percent_between(now, c->times, TIME_IDLE, TIME_IDLE, whole);
		iowait = percent_between(now, c->times, TIME_IOWAIT, TIME_IOWAIT, whole);
		meter_level(p, c->busy, 100 - idle - iowait);
		meter_level(p, c->user,
			    percent_between(now, c->times, TIME_USER, TIME_NICE, whole));
		meter_level(p, c->system,
			    percent_between(now, c->times, TIME_SYSTEM, TIME_SYSTEM, whole) +
				    percent_between(now, c->times, TIME_IRQ, TIME_SOFTIRQ, whole));
		meter_level(p, c->iowait, iowait);
		meter_level(p, c->steal,
			    percent_between(now, c->times, TIME_STEAL, TIME_STEAL, whole));
	}
	/* Ticks are long: without one there is nothing new yet. */
	if (!c->begun || whole > 0)
		memcpy(c->times, now, sizeof(now));
	c->begun = true;
}

struct clocks {
	double sum, low, high;
	unsigned count;
};

static void add_clock(struct clocks *s, double mhz)
{
	if (mhz <= 0 || mhz > 1e6)
		return;
	s->low = !s->count || mhz < s->low ? mhz : s->low;
	s->high = mhz > s->high ? mhz : s->high;
	s->sum += mhz;
	s->count++;
}

static void clocks_of_cpuinfo(struct cpu *c, struct clocks *s)
{
	size_t n;
	const char *at = c->text;

	if (value_file_text(&c->cpuinfo, c->text, sizeof(c->text), &n) != 0)
		return;
	while ((at = strstr(at, "\ncpu MHz")) != NULL) {
		const char *colon = strchr(at + 1, ':');

		at += 8;
		if (colon && colon - at < 16)
			add_clock(s, strtod(colon + 1, NULL));
	}
}

static void read_clocks(struct probe *p, struct cpu *c)
{
	struct clocks s = {0};
	int64_t khz;
	int error = ENODATA;

	meter_before(p);
	for (unsigned i = 0; i < c->frequencies; i++) {
		int e = value_file_number(&c->frequency[i], &khz);

		if (e)
			error = e; /* a processor that was taken away */
		else
			add_clock(&s, (double)khz / 1000);
	}
	if (!c->frequencies)
		clocks_of_cpuinfo(c, &s);
	if (!s.count) {
		meter_gap(p, c->mean, value_error(error));
		return;
	}
	meter_level(p, c->mean, s.sum / s.count);
	meter_level(p, c->low, s.low);
	meter_level(p, c->high, s.high);
}

static void cpu_read(struct probe *p, void *state)
{
	struct cpu *c = state;
	uint64_t now = meter_before(p);

	read_busy(p, c);
	if (!c->mean || now < c->next_frequency)
		return;
	read_clocks(p, c);
	c->next_frequency = now + FREQUENCY_NS;
}

static void cpu_close(void *state)
{
	struct cpu *c = state;

	value_file_close(&c->stat);
	value_file_close(&c->cpuinfo);
	for (unsigned i = 0; i < c->frequencies; i++)
		value_file_close(&c->frequency[i]);
	free(c->frequency);
	free(c);
}

extern const struct source source_cpu;
const struct source source_cpu = {
	.name = "cpu",
	.about = "processors of the node: /proc/stat, cpufreq",
	.interval_ns = 10 * MILLISECOND, /* a tick of its counts */
	.open = cpu_open,
	.read = cpu_read,
	.close = cpu_close,
};
