/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See measure.h. Rows are measured by turns, in rounds, since other work on the machine comes in bursts; experiments of all
 * rounds make the estimate. docs/roofline.md says what that does to intervals.
 */
#include "roofs/measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "roofs/plan.h"

enum {
	EXPERIMENTS_LEAST = 10,
	STEP_MOST = 16,   /* times more passes than were tried */
	TRIES = 3,        /* of a launch that seems to take long enough */
	WINDOW = 1 << 20, /* bytes of results that are looked at in one place */
	CHUNK = 8 << 20
};
#define CPU_TARGET 2e-3 /* seconds of an experiment: waking the threads is 1 to 2 % of it */
#define GPU_TARGET 1e-3
#define ODD        0.4 /* of what is expected: below, something is wrong */

struct bench {
	struct runner *r;
	const struct measure_limits *limits;
	struct plan plan;
	double begun;
};

static double now(void)
{
	return (double)clock_ns(CLOCK_MONOTONIC_RAW) / 1e9;
}

static double left(const struct bench *b)
{
	return b->limits->seconds - (now() - b->begun);
}

double runner_seconds(struct runner *r, double told, double host)
{
	if (told > 0 && told <= host * 1.001)
		return told;
	r->doubtful++;
	return host;
}

/* ---- results ------------------------------------------------------------------------------------- */

/* `bytes` of a buffer: all of them `value`, of the type. */
static bool fill(struct bench *b, const struct row *row, enum runner_buffer to, double value,
		 char why[ROOF_WHY])
{
	const unsigned each = kernel_element_bytes(row->shape.type);
	size_t room = row->buffer < CHUNK ? row->buffer : CHUNK;
	float single = (float)value;
	char *chunk = calloc(1, room + 8);
	bool ok = chunk != NULL;

	if (!chunk)
		snprintf(why, ROOF_WHY, "no memory");
	for (size_t i = 0; ok && value != 0 && i < room; i += each)
		memcpy(chunk + i, each == 8 ? (const void *)&value : (const void *)&single, each);
	for (uint64_t at = 0; ok && at < row->buffer; at += room)
		ok = b->r->f->put(b->r, to, at, chunk,
				  row->buffer - at < room ? row->buffer - at : room, why);
	free(chunk);
	return ok;
}

static bool prepare(struct bench *b, const struct row *row, char why[ROOF_WHY])
{
	char factors[KERNEL_FACTORS * 8];

	if (row->shape.kind == KERNEL_FMA) {
		kernel_factors(&row->shape, factors);
		return b->r->f->put(b->r, RUNNER_A, 0, factors,
				    KERNEL_FACTORS * kernel_element_bytes(row->shape.type), why);
	}
	return fill(b, row, RUNNER_A, 1, why) && fill(b, row, RUNNER_B, 0, why);
}

static bool check_window(struct bench *b, const struct row *row, uint64_t first, uint64_t count,
			 char *room, char why[ROOF_WHY])
{
	const unsigned each = kernel_element_bytes(row->shape.type);

	if (!b->r->f->get(b->r, RUNNER_B, first * each, room, count * each, why))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		double is = kernel_element(&row->shape, room, i);
		double wanted = kernel_result(&row->shape, &row->launch, first + i);

		if (is == wanted)
			continue;
		snprintf(why, ROOF_WHY,
			 "its result is wrong: element %" PRIu64
			 " is %.17g and not %.17g, so that what it "
			 "did is not known",
			 first + i, is, wanted);
		return false;
	}
	return true;
}

/* At the beginning, in the middle and at the end. */
static bool check(struct bench *b, const struct row *row, char why[ROOF_WHY])
{
	const uint64_t all = kernel_results(&row->shape, &row->launch);
	uint64_t some = WINDOW / kernel_element_bytes(row->shape.type);
	char *room = malloc(WINDOW);
	bool ok = room != NULL;

	if (!room)
		snprintf(why, ROOF_WHY, "no memory");
	some = some < all ? some : all;
	for (unsigned i = 0; ok && i < 3; i++)
		ok = check_window(b, row, (all - some) / 2 * i, some, room, why);
	free(room);
	return ok;
}

/* ---- one experiment ------------------------------------------------------------------------------ */

static double work_of(const struct row *row)
{
	return row->roof.kind == ROOF_COMPUTE ? kernel_operations(&row->shape, &row->launch)
					      : kernel_bytes(&row->shape, &row->launch);
}

static bool experiment(struct bench *b, const struct row *row, double *value, char why[ROOF_WHY])
{
	const struct runner_functions *f = b->r->f;
	double seconds, host;

	switch ((enum row_what)row->what) {
	case ROW_LAUNCH:
		return f->launch(b->r, &row->launch, &seconds, value, why);
	case ROW_LAUNCHES:
		if (!f->launch_many(b->r, &row->launch, PLAN_IN_A_ROW, &host, why))
			return false;
		*value = host / PLAN_IN_A_ROW;
		return true;
	case ROW_TRANSFER:
		if (!f->transfer(b->r, row->to_device, row->pinned, row->host, row->roof.bytes,
				 &seconds, why))
			return false;
		*value = (double)row->roof.bytes / seconds;
		return true;
	case ROW_KERNEL:
		break;
	}
	if (!f->launch(b->r, &row->launch, &seconds, &host, why))
		return false;
	*value = work_of(row) / seconds;
	return true;
}

/* ---- before the rounds --------------------------------------------------------------------------- */

/* More groups, where passes have an end, as far as there is room for results. */
static bool more_groups(struct bench *b, struct row *row)
{
	uint64_t groups = row->launch.groups * 2;
	uint64_t bytes = groups * row->launch.items * row->shape.width *
			 kernel_element_bytes(row->shape.type);

	if (row->shape.kind != KERNEL_FMA || bytes > b->plan.buffer)
		return false;
	row->launch.groups = groups;
	return true;
}

/*
 * What disturbs a launch makes it slower, never faster, and the first one may compile the kernel: only one that takes
 * `enough` again and again does. Few passes would be taken for many, and what starting them costs for work.
 */
static bool fastest(struct bench *b, const struct row *row, double enough, double *seconds,
		    char why[ROOF_WHY])
{
	double once, host;

	*seconds = INFINITY;
	for (unsigned i = 0; i < TRIES && *seconds >= enough; i++) {
		if (!b->r->f->launch(b->r, &row->launch, &once, &host, why))
			return false;
		*seconds = fmin(*seconds, once);
	}
	return true;
}

static double target_of(const struct bench *b)
{
	return strcmp(b->r->device.type, "cpu") == 0 ? CPU_TARGET : GPU_TARGET;
}

/* As many passes as take the time that an experiment should: an odd number, so that the results are in `b`. */
static bool find_passes(struct bench *b, struct row *row, char why[ROOF_WHY])
{
	const double target = target_of(b);
	const uint32_t most = kernel_passes_most(&row->shape, row->launch.n) - 1;
	double seconds = 0, host, more;

	row->launch.passes = 1;
	if (row->one_pass)
		return b->r->f->launch(b->r, &row->launch, &seconds, &host, why);
	for (;;) {
		if (!fastest(b, row, target / 2, &seconds, why))
			return false;
		if (seconds >= target / 2)
			return true;
		more = fmin(STEP_MOST, 1.2 * target / seconds) * row->launch.passes;
		if (more <= most)
			row->launch.passes = (uint32_t)more | 1;
		else if (row->launch.passes < (most | 1) - 2)
			row->launch.passes = (most - 2) | 1;
		else if (!more_groups(b, row))
			return true;
	}
}

static bool set_up(struct bench *b, struct row *row, char why[ROOF_WHY])
{
	struct text source = {0};
	double seconds, host;

	if (row->what == ROW_TRANSFER) {
		row->host = b->r->f->host_new(b->r, row->pinned, row->roof.bytes, why);
		if (row->host)
			memset(row->host, 1, row->roof.bytes);
		return row->host != NULL;
	}
	kernel_source(&row->shape, b->r->language, &source);
	if (!source.failed && source.s)
		row->launch.kernel = b->r->f->build(b->r, source.s, why);
	text_release(&source);
	if (!row->launch.kernel || !prepare(b, row, why) || !find_passes(b, row, why))
		return false;
	return prepare(b, row, why) && b->r->f->launch(b->r, &row->launch, &seconds, &host, why) &&
	       check(b, row, why);
}

static void release_row(struct bench *b, struct row *row)
{
	if (row->launch.kernel)
		b->r->f->forget(b->r, row->launch.kernel);
	if (row->host)
		b->r->f->host_free(b->r, row->pinned, row->host);
	row->launch.kernel = row->host = NULL;
}

/* ---- rounds -------------------------------------------------------------------------------------- */

/* An experiment that was far too short had its passes chosen while something disturbed: again, without what was measured so. */
static bool choose_again(struct bench *b, struct row *row, double rate)
{
	const double before = work_of(row);

	if (row->what != ROW_KERNEL || row->one_pass || before / rate >= target_of(b) / 4)
		return true;
	if (!find_passes(b, row, row->roof.why))
		return false;
	if (work_of(row) > 2 * before)
		row->count = 0;
	return true;
}

/* False: the row is not to be measured any more. */
static bool take_turn(struct bench *b, struct row *row, double slice)
{
	const double end = now() + slice;
	uint32_t turn = 0;
	double first;

	if (row->shape.kind == KERNEL_FMA && !prepare(b, row, row->roof.why))
		return false;
	if (!experiment(b, row, &first, row->roof.why)) /* warms up */
		return false;
	if (!choose_again(b, row, first))
		return false;
	while (row->count < PLAN_EXPERIMENTS && (turn < EXPERIMENTS_LEAST || now() < end) &&
	       (row->count < ESTIMATE_LEAST || left(b) > 0)) {
		if (!experiment(b, row, &row->values[row->count], row->roof.why))
			return false;
		row->count++;
		turn++;
	}
	return true;
}

/* Makes a row ready and measures it once: runtimes compile slowly, and then there is something, whatever time is left. */
static void begin_row(struct bench *b, struct row *row)
{
	if (*row->roof.why)
		return;
	if (left(b) <= 0)
		snprintf(row->roof.why, ROOF_WHY, MEASURE_NO_TIME);
	else if (b->r->dead)
		snprintf(row->roof.why, ROOF_WHY, "the device failed before");
	else if (!set_up(b, row, row->roof.why) || !take_turn(b, row, 0))
		release_row(b, row);
}

/*
 * What a roofline needs first: memory, one roof of arithmetic of each type. Where kernels have to be compiled, time may be
 * over then.
 */
static unsigned rank_of(const struct plan *p, unsigned i)
{
	const struct row *row = &p->rows[i];

	if (row->what != ROW_KERNEL)
		return 3;
	if (row->roof.kind != ROOF_COMPUTE)
		return strcmp(row->roof.name, "memory") == 0 ? 0 : 2;
	/* The first width of a type is one element: the second is the one that the device likes best. */
	if (i && row->shape.width > 1 && p->rows[i - 1].shape.type == row->shape.type &&
	    p->rows[i - 1].shape.width == 1)
		return 0;
	return 1;
}

static void begin_all(struct bench *b)
{
	unsigned done = 0;

	for (unsigned rank = 0; rank < 4; rank++)
		for (unsigned i = 0; i < b->plan.count; i++) {
			struct row *row = &b->plan.rows[i];

			if (rank_of(&b->plan, i) != rank)
				continue;
			begin_row(b, row);
			if (b->limits->progress)
				b->limits->progress(b->limits->data, 0.5 * ++done / b->plan.count);
		}
}

static void take_rounds(struct bench *b)
{
	const unsigned turns = b->limits->rounds * b->plan.count;

	for (unsigned t = 0; t < turns && left(b) > 0 && !b->r->dead; t++) {
		struct row *row = &b->plan.rows[t % b->plan.count];
		double slice = left(b) / (turns - t);

		if (!*row->roof.why)
			take_turn(b, row, slice); /* why not: what it attained before counts */
		if (b->limits->progress)
			b->limits->progress(b->limits->data, 0.5 + 0.5 * (t + 1) / turns);
	}
}

/* ---- all ----------------------------------------------------------------------------------------- */

static void take_result(struct roofs *out, struct row *row)
{
	struct estimate e;

	if (estimate_of(row->values, row->count, row->roof.kind == ROOF_LATENCY, &e)) {
		row->roof.value = e.value;
		row->roof.interval = e.interval;
		row->roof.experiments = e.used;
		row->roof.dropped = e.dropped;
		row->roof.why[0] = '\0';
	} else if (!*row->roof.why) {
		snprintf(row->roof.why, ROOF_WHY, MEASURE_NO_TIME);
	}
	out->roofs[out->count++] = row->roof;
}

/* One element, or a shorter vector, is no slower than its share of a wider one, and a single no slower than a double. */
static bool is_odd(const struct row *a, const struct row *than)
{
	const double share = (double)a->shape.width / than->shape.width;
	const bool same = a->shape.type == than->shape.type;

	if (a->roof.kind != ROOF_COMPUTE || than->roof.kind != ROOF_COMPUTE || share > 1 ||
	    (same ? share == 1 : a->shape.type != RUNNER_FP32 || than->shape.type != RUNNER_FP64))
		return false;
	return a->roof.value < ODD * share * than->roof.value;
}

static void note_odd(const struct bench *b, struct roofs *out)
{
	const struct plan *p = &b->plan;

	for (unsigned i = 0; i < p->count; i++)
		for (unsigned k = 0; k < p->count; k++)
			if (!*out->note && is_odd(&p->rows[i], &p->rows[k]))
				snprintf(out->note, sizeof(out->note),
					 "%s is far below what %s leads to expect: it was "
					 "disturbed, "
					 "or the compiler made little of it; --again measures anew",
					 p->rows[i].roof.name, p->rows[k].roof.name);
}

static void note_all(const struct bench *b, struct roofs *out)
{
	note_odd(b, out);
	if (b->r->doubtful)
		snprintf(out->note, sizeof(out->note),
			 "%u times that the device told did not fit into those of the host around "
			 "them, which were taken in their place",
			 b->r->doubtful);
}

static void describe_run(struct roofs *out, const struct measure_limits *limits)
{
	time_t t = time(NULL);
	struct tm tm;
	double load = 0;

	if (localtime_r(&t, &tm))
		strftime(out->date, sizeof(out->date), "%Y-%m-%dT%H:%M:%S%z", &tm);
	snprintf(out->version, sizeof(out->version), "%s", KYMO_VERSION);
	out->load = getloadavg(&load, 1) == 1 ? load : NAN;
	out->quick = limits->quick;
}

/* Rows that take most go without, where there is not as much memory. */
static bool reserve(struct bench *b, char why[ROOF_WHY])
{
	while (!b->r->f->reserve(b->r, b->plan.buffer, why)) {
		uint64_t next = 0;

		for (unsigned i = 0; i < b->plan.count; i++) {
			struct row *row = &b->plan.rows[i];

			if (row->buffer == b->plan.buffer && !*row->roof.why)
				snprintf(row->roof.why, ROOF_WHY, "%.200s", why);
			else if (row->buffer > next && row->buffer < b->plan.buffer)
				next = row->buffer;
		}
		if (b->r->dead || !next)
			return false;
		b->plan.buffer = next;
	}
	why[0] = '\0';
	return true;
}

static bool make_room(struct bench *b)
{
	for (unsigned i = 0; i < b->plan.count; i++) {
		b->plan.rows[i].values = calloc(PLAN_EXPERIMENTS, sizeof(double));
		if (!b->plan.rows[i].values)
			return false;
	}
	return true;
}

static void measure_rows(struct bench *b)
{
	char why[ROOF_WHY] = "";

	if (!make_room(b))
		snprintf(why, sizeof(why), "no memory");
	else if (b->r->f->open(b->r, why) && reserve(b, why)) {
		begin_all(b);
		take_rounds(b);
		for (unsigned i = 0; i < b->plan.count; i++)
			release_row(b, &b->plan.rows[i]);
	}
	for (unsigned i = 0; *why && i < b->plan.count; i++)
		snprintf(b->plan.rows[i].roof.why, ROOF_WHY, "%.200s", why);
}

void measure_device(struct runner *r, const struct measure_limits *limits, struct roofs *out)
{
	struct bench *b = calloc(1, sizeof(*b));

	*out = (struct roofs){0};
	describe_run(out, limits);
	out->device = r->device;
	if (!b)
		return;
	b->r = r;
	b->limits = limits;
	b->begun = now();
	plan_make(&b->plan, r, limits->quick);
	measure_rows(b);
	out->device = r->device; /* with its caches */
	r->f->close(r);
	for (unsigned i = 0; i < b->plan.count; i++) {
		take_result(out, &b->plan.rows[i]);
		free(b->plan.rows[i].values);
	}
	note_all(b, out);
	out->seconds = now() - b->begun;
	free(b);
}
