/* SPDX-License-Identifier: Apache-2.0 */
/* The picture for scripts: docs/top.md has the fields. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/top.h"

enum { PROCESSES_MOST = 1024, ROWS_MOST = 1000 };

static void add_number(struct json *j, const char *name, double v)
{
	char number[40];

	json_name(j, name);
	if (!isfinite(v)) {
		json_add_null(j);
		return;
	}
	if (v == floor(v) && fabs(v) < 9e18)
		snprintf(number, sizeof(number), "%.0f", v);
	else
		snprintf(number, sizeof(number), "%.6g", v);
	json_add_raw(j, number);
}

/* Nanoseconds and bytes are whole numbers. */
static void add_whole(struct json *j, const char *name, double v)
{
	add_number(j, name, isfinite(v) ? round(v) : v);
}

static void add_text(struct json *j, const char *name, const char *s)
{
	json_name(j, name);
	json_add_string(j, s);
}

static void add_sum(struct json *j, const struct follow *f, const struct follow_sum *now,
		    const struct follow_sum *then)
{
	add_whole(j, "count", now->count);
	add_number(j, "per_s", top_per_s(f, now->count, then->count));
	add_whole(j, "time_ns", now->ns);
	add_whole(j, "interval_time_ns", f->interval ? now->ns - then->ns : NAN);
}

static void add_rows(struct json *j, const struct follow *f, const char *name,
		     const struct follow_rows *rows, bool bytes)
{
	uint32_t *places = top_sort_rows(rows, TOP_BY_TIME), shown = 0;

	json_name(j, name);
	json_open(j, '[');
	for (uint32_t i = 0; places && i < rows->count && shown < ROWS_MOST; i++) {
		const struct follow_row *r = &rows->at[places[i]];

		if (r->now.count <= 0)
			continue;
		shown++;
		json_open(j, '{');
		add_text(j, bytes ? "direction" : "name", r->name);
		if (*r->domain)
			add_text(j, "domain", r->domain);
		add_sum(j, f, &r->now, &r->then);
		if (bytes) {
			add_whole(j, "bytes", r->now.bytes);
			add_number(j, "bytes_per_s", top_per_s(f, r->now.bytes, r->then.bytes));
		}
		json_close(j);
	}
	json_close(j);
	free(places);
}

static void add_device_name(struct json *j, const struct follow_device *d)
{
	add_text(j, "device", d->name);
	add_text(j, "host", d->host);
	json_name(j, "number");
	if (d->name)
		json_add_unsigned(j, d->number);
	else
		json_add_null(j);
}

static void add_devices(struct json *j, const struct follow *f)
{
	json_name(j, "devices");
	json_open(j, '[');
	for (uint32_t i = 0; i < f->device_count; i++) {
		const struct follow_device *d = &f->devices[i];

		if (!d->now.count && !d->under_way && (!d->name || !d->users))
			continue;
		json_open(j, '{');
		add_device_name(j, d);
		add_whole(j, "kernels", d->now.count);
		add_number(j, "kernels_per_s", top_per_s(f, d->now.count, d->then.count));
		add_whole(j, "kernel_time_ns", d->now.ns);
		add_whole(j, "busy_ns", top_busy_ns(f, d));
		add_number(j, "busy_share", top_busy(f, d));
		add_number(j, "interval_busy_share", top_busy_now(f, d));
		add_number(j, "under_way", (double)d->under_way);
		json_close(j);
	}
	json_close(j);
}

static void add_memory(struct json *j, const struct follow *f)
{
	json_name(j, "memory");
	if (!follow_complete(f)) {
		json_add_null(j);
		return;
	}
	json_open(j, '[');
	for (uint32_t i = 0; i < f->memory_count; i++) {
		const struct follow_memory *m = &f->memory[i];

		if (m->peak <= 0)
			continue;
		json_open(j, '{');
		add_device_name(j, &f->devices[m->device]);
		add_text(j, "kind", top_memory_kinds[m->kind < TOP_MEMORY_KINDS ? m->kind : 0]);
		add_whole(j, "bytes", m->bytes);
		add_whole(j, "peak_bytes", m->peak);
		json_close(j);
	}
	json_close(j);
}

static void add_rank(struct json *j, const char *name, int64_t rank)
{
	json_name(j, name);
	if (rank >= 0)
		json_add_signed(j, rank);
	else
		json_add_null(j);
}

static void add_process(struct json *j, const struct follow *f, const struct follow_process *p)
{
	const struct follow_op *open =
		p->open.start && p->open.op < p->op_room && !p->ended ? &p->ops[p->open.op] : NULL;
	char host[sizeof(p->header.hostname) + 1] = "";

	snprintf(host, sizeof(host), "%.*s", (int)sizeof(p->header.hostname),
		 (const char *)p->header.hostname);
	json_open(j, '{');
	json_name(j, "pid");
	json_add_unsigned(j, p->header.pid);
	add_text(j, "host", host);
	add_rank(j, "rank", p->rank);
	add_text(j, "trace", p->recording->trace);
	add_text(j, "command", p->program);
	json_name(j, "running");
	json_add_bool(j, !p->ended);
	json_name(j, "memory_seen");
	json_add_bool(j, p->geometry);
	add_whole(j, "elapsed_ns", (double)top_process_elapsed(f, p));
	add_whole(j, "threads", (double)p->thread_count + p->silent_threads);
	add_whole(j, "calls", p->calls.count);
	add_number(j, "calls_per_s", top_per_s(f, p->calls.count, p->calls_then.count));
	add_whole(j, "kernels", p->kernels_sum.count);
	add_whole(j, "kernel_time_ns", p->kernels_sum.ns);
	add_whole(j, "copied_bytes", p->copies.bytes);
	add_whole(j, "waited_ns", p->waited + p->waiting);
	add_number(j, "interval_waiting_share", top_waiting(f, p));
	add_text(j, "open_call", open ? open->name : NULL);
	add_whole(j, "lost_records", top_lost(p));
	add_whole(j, "overhead_ns", top_overhead_ns(p));
	json_close(j);
}

static void add_processes(struct json *j, const struct follow *f)
{
	uint32_t count, running = 0, *places = top_sort_processes(f, TOP_BY_NAME, &count);
	uint32_t shown = count < PROCESSES_MOST ? count : PROCESSES_MOST;

	for (uint32_t i = 0; places && i < count; i++)
		running += !f->processes[places[i]]->ended;
	add_number(j, "processes_running", running);
	add_number(j, "processes_ended", count - running);
	add_number(j, "processes_unrecorded", f->unrecorded);
	json_name(j, "processes");
	json_open(j, '[');
	for (uint32_t i = 0; places && i < shown; i++)
		add_process(j, f, f->processes[places[i]]);
	json_close(j);
	add_number(j, "processes_left_out", count - shown);
	free(places);
}

static void add_recordings(struct json *j, const struct follow *f)
{
	json_name(j, "recordings");
	json_open(j, '[');
	for (uint32_t i = 0; i < f->recording_count; i++) {
		const struct follow_recording *r = f->recordings[i];

		json_open(j, '{');
		add_text(j, "trace", r->trace);
		json_name(j, "command");
		json_add_raw(j, r->command ? r->command : "null");
		json_name(j, "running");
		json_add_bool(j, r->running);
		add_whole(j, "drain_silent_ns", (double)r->silent);
		json_close(j);
	}
	json_close(j);
}

static void add_totals(struct json *j, const struct follow *f)
{
	struct follow_losses lost = follow_lost(f);
	const struct follow_process *slowest, *fastest;
	bool ranks = top_extremes(f, &slowest, &fastest);
	double kernels = 0, before = 0, overhead = 0, unrecorded = 0;

	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct follow_process *p = f->processes[i];

		if (!top_is_process(p))
			continue;
		kernels += p->kernels_sum.count;
		before += p->kernels_then.count;
		overhead += top_overhead_ns(p);
		unrecorded += p->unrecorded_calls;
	}
	add_whole(j, "calls", f->calls_now);
	add_number(j, "calls_per_s", top_per_s(f, f->calls_now, f->calls_then));
	add_whole(j, "calls_left_out", unrecorded);
	add_whole(j, "kernels", kernels);
	add_number(j, "kernels_per_s", top_per_s(f, kernels, before));
	add_number(j, "interval_waiting_share", top_waiting_all(f));
	add_rank(j, "slowest_rank", ranks ? slowest->rank : -1);
	add_rank(j, "fastest_rank", ranks ? fastest->rank : -1);
	add_whole(j, "lost_records", lost.records);
	add_whole(j, "lost_definitions", lost.definitions);
	add_whole(j, "overwritten_records", lost.overwritten);
	add_whole(j, "overhead_ns", overhead);
	add_number(j, "overhead_share", top_overhead_share(f));
	add_whole(j, "written_bytes", f->written_now);
	add_number(j, "written_bytes_per_s", top_per_s(f, f->written_now, f->written_then));
	add_number(j, "read_share", top_read_share(f));
	add_whole(j, "age_ns", (double)top_age(f));
	add_number(j, "damaged_blocks", (double)f->damaged);
}

void top_json(struct text *out, const struct follow *f)
{
	struct json j = {.out = out};

	json_open(&j, '{');
	json_name(&j, "running");
	json_add_bool(&j, follow_running(f));
	json_name(&j, "time_ns");
	json_add_unsigned(&j, f->realtime);
	add_whole(&j, "elapsed_ns", (double)top_elapsed(f));
	add_whole(&j, "interval_ns", f->interval ? (double)f->interval : NAN);
	add_recordings(&j, f);
	add_totals(&j, f);
	add_devices(&j, f);
	add_rows(&j, f, "top_kernels", &f->kernels, false);
	add_rows(&j, f, "top_calls", &f->calls, false);
	add_rows(&j, f, "copies", &f->copies, true);
	add_memory(&j, f);
	add_processes(&j, f);
	json_close(&j);
	text_add(out, "\n");
}
