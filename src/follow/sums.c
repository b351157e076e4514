/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of all recordings, and what each process added to them: that is taken away when its recording is let go. */
#include <stdlib.h>

#include "base/vec.h"
#include "follow/reading.h"

static struct follow_rows *rows_of(struct follow *f, enum follow_table table)
{
	return table == TABLE_CALLS ? &f->calls : table == TABLE_KERNELS ? &f->kernels : &f->copies;
}

static void add_memory(struct follow_memory *m, double bytes)
{
	m->bytes += bytes;
	m->peak = m->bytes > m->peak ? m->bytes : m->peak;
}

void follow_add_to(struct follow *f, struct follow_process *p, enum follow_table table,
		   uint32_t place, const struct follow_sum *more)
{
	struct follow_parts *parts = &p->parts[table];

	if (place >= parts->room && !vec_reserve_zero(&parts->at, &parts->room, place, 1)) {
		f->failed = true;
		return;
	}
	follow_sum_add(&parts->at[place], more);
	if (table == TABLE_MEMORY)
		add_memory(&f->memory[place], more->bytes);
	else if (table == TABLE_DEVICES)
		follow_sum_add(&f->devices[place].now, more);
	else
		follow_sum_add(&rows_of(f, table)->at[place].now, more);
}

void follow_add_up(struct follow *f)
{
	f->calls_now = f->written_now = f->read = f->left_out = 0;
	f->damaged = 0;
	f->unrecorded = 0;
	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct follow_process *p = f->processes[i];

		f->calls_now += p->calls.count;
		f->written_now += p->written;
		f->read += p->read;
		f->left_out += p->left_out;
		f->damaged += p->damaged;
		f->unrecorded += p->headed && p->header.unrecorded;
	}
}

/* ---- what is taken away ------------------------------------------------------------------------ */

/* Counts are whole numbers; times, which are not, leave nothing behind where no count is left. */
static void subtract(struct follow_sum *s, const struct follow_sum *part)
{
	s->count -= part->count;
	s->ns = s->count ? s->ns - part->ns : 0;
	s->bytes -= part->bytes;
}

/* How long a device was busy with the work of those that are left is not known where they shared it. */
static void leave_device(struct follow_device *d, const struct follow_sum *part)
{
	if (!part->count)
		return;
	subtract(&d->now, part);
	d->shared = d->now.count > 0;
	if (!d->shared) {
		busy_union_release(&d->busy);
		d->busy_now = 0;
	}
}

static void leave_memory(struct follow_memory *m, const struct follow_sum *part)
{
	m->bytes -= part->bytes;
	m->peak = m->bytes;
}

void follow_take_away(struct follow *f, const struct follow_process *p)
{
	const struct follow_parts *parts = p->parts;

	for (unsigned t = TABLE_CALLS; t <= TABLE_COPIES; t++) {
		struct follow_rows *rows = rows_of(f, (enum follow_table)t);

		for (uint32_t i = 0; i < parts[t].room && i < rows->count; i++)
			subtract(&rows->at[i].now, &parts[t].at[i]);
	}
	for (uint32_t i = 0; i < parts[TABLE_DEVICES].room && i < f->device_count; i++)
		leave_device(&f->devices[i], &parts[TABLE_DEVICES].at[i]);
	for (uint32_t i = 0; i < parts[TABLE_MEMORY].room && i < f->memory_count; i++)
		leave_memory(&f->memory[i], &parts[TABLE_MEMORY].at[i]);
	for (uint32_t i = 0; p->agents.entries && i <= p->agents.mask; i++)
		if (p->agents.entries[i].value)
			f->devices[p->agents.entries[i].value - 1].users--;
}

/* ---- recordings that are let go ---------------------------------------------------------------- */

void follow_recording_free(struct follow_recording *r)
{
	follow_close_doors(r);
	free(r->command);
	free(r);
}

void follow_let_go(struct follow *f)
{
	uint32_t processes = 0, recordings = 0;

	for (uint32_t i = 0; i < f->process_count; i++) {
		struct follow_process *p = f->processes[i];

		if (p->recording->running) {
			f->processes[processes++] = p;
			continue;
		}
		follow_take_away(f, p);
		follow_process_free(p);
	}
	for (uint32_t i = 0; i < f->recording_count; i++) {
		if (f->recordings[i]->running)
			f->recordings[recordings++] = f->recordings[i];
		else
			follow_recording_free(f->recordings[i]);
	}
	f->process_count = processes;
	f->recording_count = recordings;
	f->reading->of = NULL;
	follow_add_up(f); /* rates are of those that are left */
}
