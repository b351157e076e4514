/* SPDX-License-Identifier: Apache-2.0 */
/* What is derived from the sums of a recording that is followed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top.h"

const char *const top_memory_kinds[TOP_MEMORY_KINDS] = {"unknown", "pageable", "pinned",
							"device",  "managed",  "shared"};

double top_per_s(const struct follow *f, double now, double then)
{
	return f->interval ? (now - then) * 1e9 / (double)f->interval : NAN;
}

bool top_is_process(const struct follow_process *p)
{
	return p->headed && !p->aside;
}

uint64_t top_process_elapsed(const struct follow *f, const struct follow_process *p)
{
	if (p->ended && p->end.tick > p->start_tick)
		return (uint64_t)follow_ns(p, p->end.tick - p->start_tick);
	return f->realtime > p->header.created_realtime ? f->realtime - p->header.created_realtime
							: 0;
}

/* From the first process that began to the last one that ended, or to now. */
uint64_t top_elapsed(const struct follow *f)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct follow_process *p = f->processes[i];
		uint64_t began = p->header.created_realtime;
		uint64_t until = began + top_process_elapsed(f, p);

		if (!top_is_process(p))
			continue;
		first = began < first ? began : first;
		last = until > last ? until : last;
	}
	return last > first ? last - first : 0;
}

/* ---- waiting ----------------------------------------------------------------------------------- */

static double threads_of(const struct follow_process *p)
{
	uint32_t threads = p->thread_count + p->silent_threads;

	return threads ? threads : 1;
}

static double waited_in(const struct follow_process *p)
{
	double ns = p->waited + p->waiting - p->waited_then;

	return ns > 0 ? ns : 0;
}

static double share(double part, double whole)
{
	return isnan(part) || whole <= 0 ? NAN : fmin(part / whole, 1);
}

double top_waiting(const struct follow *f, const struct follow_process *p)
{
	return p->ended ? NAN : share(waited_in(p), threads_of(p) * (double)f->interval);
}

double top_waiting_all(const struct follow *f)
{
	double waited = 0, threads = 0;

	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct follow_process *p = f->processes[i];

		if (!top_is_process(p) || p->ended)
			continue;
		waited += waited_in(p);
		threads += threads_of(p);
	}
	return share(waited, threads * (double)f->interval);
}

bool top_extremes(const struct follow *f, const struct follow_process **slowest,
		  const struct follow_process **fastest)
{
	*slowest = *fastest = NULL;
	for (uint32_t i = 0; i < f->process_count && f->interval; i++) {
		const struct follow_process *p = f->processes[i];

		if (!top_is_process(p) || p->ended || p->rank < 0)
			continue;
		if (!*slowest || top_waiting(f, p) < top_waiting(f, *slowest))
			*slowest = p;
		if (!*fastest || top_waiting(f, p) > top_waiting(f, *fastest))
			*fastest = p;
	}
	return *slowest && *slowest != *fastest;
}

/* ---- devices, losses, cost --------------------------------------------------------------------- */

/* Of kernels that were not looked into, or of a recording that was let go, nobody knows when they ran beside others. */
double top_busy_ns(const struct follow *f, const struct follow_device *d)
{
	return follow_complete(f) && !d->shared ? d->busy_now : NAN;
}

double top_busy_now(const struct follow *f, const struct follow_device *d)
{
	return follow_complete(f) ? share(d->busy_now - d->busy_then, (double)f->interval) : NAN;
}

double top_busy(const struct follow *f, const struct follow_device *d)
{
	return share(top_busy_ns(f, d), (double)top_elapsed(f));
}

/* Before the process began for Kymo. */
static double loading_ns(const struct follow_process *p)
{
	return follow_ns(p, p->geometry && !p->ended ? p->shm.loading_ticks : p->end.loading_ticks);
}

double top_overhead_ns(const struct follow_process *p)
{
	return follow_ns(p,
			 p->geometry && !p->ended ? p->shm.overhead_ticks : p->end.overhead_ticks) +
	       loading_ns(p) + p->cost_ns;
}

double top_overhead_share(const struct follow *f)
{
	double overhead = 0, lived = 0;

	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct follow_process *p = f->processes[i];

		if (!top_is_process(p))
			continue;
		overhead += top_overhead_ns(p);
		lived += (double)top_process_elapsed(f, p) + loading_ns(p);
	}
	return share(overhead, lived);
}

double top_lost(const struct follow_process *p)
{
	return (double)(p->geometry && !p->ended ? p->shm.lost_records : p->end.lost_records);
}

double top_read_share(const struct follow *f)
{
	double all = f->read + f->left_out;

	return all > 0 ? f->read / all : 1;
}

uint64_t top_age(const struct follow *f)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct follow_process *p = f->processes[i];
		uint64_t age = f->looked - p->grown;

		if (top_is_process(p) && !p->ended && !p->geometry && age > most)
			most = age;
	}
	return most;
}

/* ---- order ------------------------------------------------------------------------------------- */

static const struct follow_rows *sorted_rows;
static const struct follow *sorted;
static enum top_order order_of;

static int descending(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int compare_rows(const void *x, const void *y)
{
	const struct follow_row *a = &sorted_rows->at[*(const uint32_t *)x],
				*b = &sorted_rows->at[*(const uint32_t *)y];
	int c = 0;

	if (order_of == TOP_BY_TIME)
		c = descending(a->now.ns, b->now.ns);
	else if (order_of == TOP_BY_NOW)
		c = descending(a->now.ns - a->then.ns, b->now.ns - b->then.ns);
	if (!c && order_of != TOP_BY_NAME)
		c = descending(a->now.count, b->now.count);
	c = c ? c : strcmp(a->name, b->name);
	return c ? c : strcmp(a->domain, b->domain);
}

uint32_t *top_sort_rows(const struct follow_rows *rows, enum top_order order)
{
	uint32_t *places = rows->count ? malloc(rows->count * sizeof(*places)) : NULL;

	if (!places)
		return NULL;
	for (uint32_t i = 0; i < rows->count; i++)
		places[i] = i;
	sorted_rows = rows;
	order_of = order;
	qsort(places, rows->count, sizeof(*places), compare_rows);
	return places;
}

static int compare_processes(const void *x, const void *y)
{
	const struct follow_process *a = sorted->processes[*(const uint32_t *)x],
				    *b = sorted->processes[*(const uint32_t *)y];
	int c = 0;

	if (a->ended != b->ended)
		return a->ended ? 1 : -1;
	if (order_of == TOP_BY_TIME)
		c = descending(top_waiting(sorted, a), top_waiting(sorted, b));
	else if (order_of == TOP_BY_NOW)
		c = descending(a->calls.count - a->calls_then.count,
			       b->calls.count - b->calls_then.count);
	else if (order_of == TOP_BY_COUNT)
		c = descending(a->calls.count, b->calls.count);
	if (!c && a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return c ? c : a->pid < b->pid ? -1 : a->pid > b->pid;
}

uint32_t *top_sort_processes(const struct follow *f, enum top_order order, uint32_t *count)
{
	uint32_t *places = malloc((f->process_count + 1u) * sizeof(*places));

	*count = 0;
	for (uint32_t i = 0; places && i < f->process_count; i++)
		if (top_is_process(f->processes[i]))
			places[(*count)++] = i;
	sorted = f;
	order_of = order;
	if (places)
		qsort(places, *count, sizeof(*places), compare_processes);
	return places;
}
