/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All processors of the node together, and those that are listed each: how busy they are, from
 * /proc/stat, and how fast they run, from cpufreq or else /proc/cpuinfo. Frequencies cost an
 * interrupt of each processor on some machines, so they are read at most twice a second, and for
 * the node of 64 processors at most.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "telemetry/cpus.h"
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

struct load {
	uint64_t times[TIMES];
	bool begun;
};

/* Metrics, of the node or of each processor. */
struct shares {
	uint32_t busy, user, system, iowait, steal;
};

struct processor {
	unsigned number;
	struct load load;
	struct value_file frequency;
};

struct cpu {
	struct value_file stat, cpuinfo;
	struct value_file *frequency; /* of each processor, may be none */
	unsigned frequencies;
	struct load load;
	struct shares shares;
	uint64_t next_frequency;
	uint32_t mean, low, high;
	struct processor *each; /* that are listed */
	uint32_t each_count, each_room;
	struct shares each_shares;
	uint32_t each_frequency;
	char text[1 << 17]; /* of /proc/stat or /proc/cpuinfo */
};

/* The numbers of a line of /proc/stat, behind its name. */
static bool parse_times(const char *p, uint64_t out[TIMES])
{
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
	return true;
}

/* The lines of all processors, where some are listed, else only the first one. 0 or an errno. */
static int read_stat(struct cpu *c)
{
	size_t n;
	int error = value_file_text(&c->stat, c->text, c->each_count ? sizeof(c->text) : 512, &n);

	return error ? error : strncmp(c->text, "cpu ", 4) != 0 ? EBADMSG : 0;
}

/* The line of one processor, behind its name; NULL: it is not there. */
static const char *line_of(const char *text, unsigned number)
{
	char name[24];

	snprintf(name, sizeof(name), "\ncpu%u ", number);
	text = strstr(text, name);
	return text ? text + strlen(name) : NULL;
}

bool cpus_online(const char *root, struct number_list *out)
{
	struct value_file stat;
	char *text = malloc(1 << 17);
	const char *at = text;
	size_t n;
	bool good = text != NULL;

	value_file_init(&stat, "%s/proc/stat", root);
	good = good && value_file_text(&stat, text, 1 << 17, &n) == 0;
	while (good && (at = strstr(at, "\ncpu")) != NULL) {
		char number[24];

		at += 4;
		snprintf(number, sizeof(number), "%.*s", (int)strspn(at, "0123456789"), at);
		if (*number)
			good = numbers_parse(out, number);
	}
	value_file_close(&stat);
	free(text);
	return good;
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

static bool read_cpuinfo(struct cpu *c)
{
	size_t n;

	return value_file_text(&c->cpuinfo, c->text, sizeof(c->text), &n) == 0;
}

static bool cpuinfo_has_clock(struct cpu *c)
{
	return read_cpuinfo(c) && strstr(c->text, "\ncpu MHz") != NULL;
}

static void tell_node(struct probe *p, struct cpu *c)
{
	c->shares = (struct shares){
		.busy = level_metric(p, "cpu.utilisation", "%",
				     "Time in which processors were not idle, of all of them"),
		.user = level_metric(p, "cpu.user", "%", "Time of processors in programs"),
		.system = level_metric(p, "cpu.system", "%",
				       "Time of processors in the kernel, interrupts included"),
		.iowait = level_metric(p, "cpu.iowait", "%",
				       "Time of idle processors with input or output under way"),
		.steal = level_metric(p, "cpu.steal", "%",
				      "Time that the machine below this virtual one took"),
	};
}

static uint32_t each_metric(struct probe *p, const char *name, const char *unit, const char *what)
{
	return meter_metric(p, &(struct metric_info){.name = name,
						     .unit = unit,
						     .description = what,
						     .dimensions = "cpu:8192"});
}

static void tell_each(struct probe *p, struct cpu *c)
{
	c->each_shares = (struct shares){
		.busy = each_metric(p, "processor.utilisation", "%",
				    "Time in which the processor was not idle"),
		.user = each_metric(p, "processor.user", "%", "Time of the processor in programs"),
		.system = each_metric(p, "processor.system", "%",
				      "Time of the processor in the kernel, interrupts included"),
		.iowait = each_metric(p, "processor.iowait", "%",
				      "Time of the idle processor with input or output under way"),
		.steal = each_metric(p, "processor.steal", "%",
				     "Time that the machine below this virtual one took"),
	};
}

/* Processors that are listed; of `cpu` they are known from /proc/stat. */
static void find_each(struct probe *p, struct cpu *c)
{
	struct number_list online = {0};

	if (!cpus_online(meter_root(p), &online))
		meter_denied(p, "/proc/stat does not tell of each processor");
	for (uint32_t i = 0; i < online.count; i++) {
		struct processor *x;

		if (!meter_cpu(p, online.at[i].first) ||
		    !vec_reserve(&c->each, &c->each_room, c->each_count, 1))
			continue;
		x = &c->each[c->each_count++];
		*x = (struct processor){.number = (unsigned)online.at[i].first};
		value_file_init(&x->frequency,
				"%s/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq",
				meter_root(p), x->number);
	}
	free(online.at);
	if (c->each_count)
		tell_each(p, c);
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
	error = read_stat(c);
	if (error || !parse_times(c->text + 3, times)) {
		meter_denied(p, "/proc/stat: %s", value_error(error ? error : EBADMSG));
		value_file_close(&c->stat);
		free(c);
		return NULL;
	}
	tell_node(p, c);
	find_each(p, c);
	find_frequencies(c, meter_root(p));
	if (!c->frequencies && !cpuinfo_has_clock(c)) {
		meter_missing(p, "no frequencies: neither cpufreq nor /proc/cpuinfo has them");
		return c;
	}
	c->mean = level_metric(p, "cpu.frequency", "MHz", "Frequency of processors, on average");
	c->low = level_metric(p, "cpu.frequency.min", "MHz", "Frequency of the slowest processor");
	c->high = level_metric(p, "cpu.frequency.max", "MHz", "Frequency of the fastest processor");
	if (c->each_count)
		c->each_frequency =
			each_metric(p, "processor.frequency", "MHz", "Frequency of the processor");
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

static void tell_load(struct probe *p, struct load *l, const struct shares *m, uint64_t number,
		      const uint64_t *now)
{
	double whole = 0, idle, iowait;

	for (unsigned i = 0; i < TIMES; i++)
		whole += now[i] > l->times[i] ? (double)(now[i] - l->times[i]) : 0;
	if (l->begun && whole > 0) {
		idle = percent_between(now, l->times, TIME_IDLE, TIME_IDLE, whole);
		iowait = percent_between(now, l->times, TIME_IOWAIT, TIME_IOWAIT, whole);
		meter_level_of(p, m->busy, number, 100 - idle - iowait);
		meter_level_of(p, m->user, number,
			       percent_between(now, l->times, TIME_USER, TIME_NICE, whole));
		meter_level_of(
			p, m->system, number,
			percent_between(now, l->times, TIME_SYSTEM, TIME_SYSTEM, whole) +
				percent_between(now, l->times, TIME_IRQ, TIME_SOFTIRQ, whole));
		meter_level_of(p, m->iowait, number, iowait);
		meter_level_of(p, m->steal, number,
			       percent_between(now, l->times, TIME_STEAL, TIME_STEAL, whole));
	}
	/* Ticks are long: without one there is nothing new yet. */
	if (!l->begun || whole > 0)
		memcpy(l->times, now, sizeof(l->times));
	l->begun = true;
}

static void read_busy(struct probe *p, struct cpu *c)
{
	uint64_t now[TIMES];
	int error;

	meter_before(p);
	error = read_stat(c);
	if (error || !parse_times(c->text + 3, now)) {
		meter_gap(p, c->shares.busy, value_error(error ? error : EBADMSG));
		return;
	}
	tell_load(p, &c->load, &c->shares, 0, now);
	for (uint32_t i = 0; i < c->each_count; i++) {
		struct processor *x = &c->each[i];
		const char *line = line_of(c->text, x->number);

		if (line && parse_times(line, now)) {
			tell_load(p, &x->load, &c->each_shares, x->number, now);
		} else {
			meter_gap(p, c->each_shares.busy, "the processor was taken away");
			x->load.begun = false;
		}
	}
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

/* The clock of the first processor that is described at `at` or behind; where it stands goes to *at. */
static bool next_clock(const char **at, double *mhz)
{
	const char *colon;

	*at = strstr(*at, "\ncpu MHz");
	if (!*at)
		return false;
	colon = strchr(*at + 1, ':');
	*at += 8;
	*mhz = colon && colon - *at < 16 ? strtod(colon + 1, NULL) : 0;
	return true;
}

static void clocks_of_cpuinfo(struct cpu *c, struct clocks *s)
{
	const char *at = c->text;
	double mhz;

	if (read_cpuinfo(c))
		while (next_clock(&at, &mhz))
			add_clock(s, mhz);
}

/* What /proc/cpuinfo has of one processor; 0: nothing. */
static double clock_of(const char *text, unsigned number)
{
	const char *at = text, *next;
	double mhz = 0;

	while (at && (strncmp(at, "processor", 9) != 0 || !strchr(at, ':') ||
		      strtoul(strchr(at, ':') + 1, NULL, 10) != number)) {
		at = strstr(at, "\nprocessor");
		at = at ? at + 1 : NULL;
	}
	next = at ? strstr(at, "\nprocessor") : NULL;
	return at && next_clock(&at, &mhz) && (!next || at < next) ? mhz : 0;
}

static void read_each_clock(struct probe *p, struct cpu *c)
{
	bool told = false;

	for (uint32_t i = 0; i < c->each_count; i++) {
		struct processor *x = &c->each[i];
		double mhz = 0;
		int64_t khz;

		meter_before(p);
		if (value_file_number(&x->frequency, &khz) == 0)
			mhz = (double)khz / 1000;
		else if (told || read_cpuinfo(c))
			told = true, mhz = clock_of(c->text, x->number);
		if (mhz > 0 && mhz < 1e6)
			meter_level_of(p, c->each_frequency, x->number, mhz);
		else
			meter_gap(p, c->each_frequency, "the processor told no frequency");
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
	if (s.count) {
		meter_level(p, c->mean, s.sum / s.count);
		meter_level(p, c->low, s.low);
		meter_level(p, c->high, s.high);
	} else {
		meter_gap(p, c->mean, value_error(error));
	}
	read_each_clock(p, c);
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
	for (uint32_t i = 0; i < c->each_count; i++)
		value_file_close(&c->each[i].frequency);
	free(c->each);
	free(c->frequency);
	free(c);
}

extern const struct source source_cpu;
const struct source source_cpu = {
	.name = "cpu",
	.about = "processors of the node: /proc/stat, cpufreq; each one with cpu:cpu=LIST",
	.interval_ns = 10 * MILLISECOND, /* a tick of its counts */
	.open = cpu_open,
	.read = cpu_read,
	.close = cpu_close,
};
