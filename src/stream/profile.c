/* SPDX-License-Identifier: Apache-2.0 */
/* See profile.h. */
#include "stream/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "record/fields.h"
#include "stream/names.h"

static uint64_t row_hash(const struct profile_row *r)
{
	return hash_mix(hash_mix(hash_mix(r->thread, r->stack), r->pc), r->kernel);
}

static bool same_row(const struct profile_row *a, const struct profile_row *b)
{
	return a->thread == b->thread && a->stack == b->stack && a->pc == b->pc &&
	       a->kernel == b->kernel;
}

static struct profile_row *find_row(struct profile_rows *p, const struct profile_row *like)
{
	uint64_t hash = row_hash(like), i;

	map_each(&p->found, hash, i)
		if (same_row(&p->at[i - 1], like))
			return &p->at[i - 1];
	if (!vec_reserve(&p->at, &p->room, p->count, 1) ||
	    !map_add(&p->found, hash, (uint64_t)p->count + 1))
		return NULL;
	p->at[p->count] = *like;
	return &p->at[p->count++];
}

bool profile_add(struct profile_rows *rows, const struct rec_sample *r)
{
	const struct profile_row like = {.thread = r->base.thread,
					 .stack = r->base.stack,
					 .pc = r->base.stack ? 0 : r->pc,
					 .kernel = r->kernel};
	struct profile_row *row = find_row(rows, &like);

	if (!row)
		return false;
	row->samples++;
	row->weight += r->weight;
	return true;
}

void profile_rows_release(struct profile_rows *rows)
{
	free(rows->at);
	map_release(&rows->found);
	*rows = (struct profile_rows){0};
}

static struct profile_writer *writer(struct stream_sink *s)
{
	return (struct profile_writer *)(void *)s;
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	writer(s)->t = t;
	return KYMO_OK;
}

static kymo_status_t on_sample(struct stream_sink *s, const struct rec_sample *r)
{
	struct profile_writer *p = writer(s);

	if (p->of != PROFILE_SAMPLES) {
		unplaced_leave(&p->unplaced, "samples of threads", 1, 1);
		return KYMO_OK;
	}
	if (r->lost) {
		unplaced_leave(&p->unplaced, "samples that were lost", r->lost, 1);
		return KYMO_OK;
	}
	unplaced_add(&p->unplaced, "times and processors of samples", 1);
	return profile_add(&p->rows, r) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static bool heap_add(struct profile_writer *p, const struct rec_heap *r)
{
	const uint64_t key = (uint64_t)r->base.process << 44 ^ r->allocation;
	const bool frees = p->t->ops[r->base.op].number == HEAP_OP_FREE;
	const struct profile_row like = {.thread = r->base.thread, .stack = r->base.stack};
	const uint64_t known = frees ? map_remove(&p->allocated, key) : 0;
	struct profile_row *row = known ? &p->rows.at[known - 1] : NULL;

	if (frees && row) {
		row->left_objects -= r->objects;
		row->left_bytes -= r->bytes;
	}
	if (frees)
		return true;
	row = find_row(&p->rows, &like);
	if (!row || !map_set(&p->allocated, key, (uint64_t)(row - p->rows.at) + 1))
		return false;
	row->samples++;
	row->weight += (int64_t)r->bytes;
	row->bytes += r->bytes;
	row->objects += r->objects;
	row->left_objects += r->objects;
	row->left_bytes += r->bytes;
	return true;
}

static kymo_status_t on_heap(struct stream_sink *s, const struct rec_heap *r)
{
	struct profile_writer *p = writer(s);

	if (p->of == PROFILE_SAMPLES) {
		unplaced_record(&p->unplaced, p->t, &r->base);
		return KYMO_OK;
	}
	return r->lost || heap_add(p, r) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	unplaced_leave(&writer(s)->unplaced, "calls", 1, 1);
	return KYMO_OK;
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	unplaced_record(&writer(s)->unplaced, writer(s)->t, r);
	return KYMO_OK;
}

static kymo_status_t on_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	(void)c;
	unplaced_leave(&writer(s)->unplaced, "calls", 1, 1);
	return KYMO_OK;
}

static kymo_status_t on_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	unplaced_leave(&writer(s)->unplaced, "device work that never finished",
		       u->unlisted ? u->unlisted : 1, 1);
	return KYMO_OK;
}

static int by_thread(const void *x, const void *y)
{
	const struct profile_row *a = x, *b = y;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->weight < b->weight) - (a->weight > b->weight);
}

void profile_sort(struct profile_rows *rows)
{
	qsort(rows->at, rows->count, sizeof(*rows->at), by_thread);
	map_clear(&rows->found);
}

/* Of the heap's rows those that have any of what the profile is of. */
static void choose_rows(struct profile_writer *p)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; p->of != PROFILE_SAMPLES && i < p->rows.count; i++) {
		struct profile_row *row = &p->rows.at[i];

		if (p->of == PROFILE_HEAP_LEFT)
			row->weight = (int64_t)row->left_bytes;
		if (row->weight)
			p->rows.at[kept++] = *row;
	}
	if (p->of != PROFILE_SAMPLES)
		p->rows.count = kept;
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct profile_writer *p = writer(s);
	kymo_status_t status;

	choose_rows(p);
	if (!p->rows.count) {
		stream_error(
			p->log, "%s: it has no %s, of which %s is made: record it with %s", t->path,
			p->of == PROFILE_SAMPLES ? "samples of call stacks" : "samples of malloc()",
			p->format, p->of == PROFILE_SAMPLES ? "--sample" : "--backends heap");
		return KYMO_ERROR_NOT_FOUND;
	}
	profile_sort(&p->rows);
	p->names = symbols_new(t, p->log);
	status = p->names ? p->put(p) : KYMO_ERROR_NO_MEMORY;
	if (status != KYMO_OK)
		return status;
	unplaced_tell(&p->unplaced, p->log, "profiles have no place for");
	p->open = false;
	return output_close(&p->out, p->log);
}

static enum profile_of of_variant(const char *variant)
{
	return !variant                       ? PROFILE_SAMPLES
	       : strcmp(variant, "heap") == 0 ? PROFILE_HEAP
					      : PROFILE_HEAP_LEFT;
}

bool profile_variant(const char *variant, bool *folder)
{
	*folder = false;
	return strcmp(variant, "heap") == 0 || strcmp(variant, "heap-left") == 0;
}

kymo_status_t profile_begin(struct profile_writer *w, const char *format, const char *variant,
			    const char *path, bool force, struct stream_log *log)
{
	kymo_status_t status = output_open(&w->out, path, force, log);

	if (status != KYMO_OK)
		return status;
	w->open = true;
	w->format = format;
	w->of = of_variant(variant);
	w->log = log;
	w->sink = (struct stream_sink){.begin = on_begin,
				       .call = on_call,
				       .other = on_other,
				       .sample = on_sample,
				       .heap = on_heap,
				       .open_call = on_open_call,
				       .unfinished = on_unfinished,
				       .end = on_end,
				       .unplaced = &w->unplaced};
	stream_sink_complete(&w->sink);
	return KYMO_OK;
}

void profile_release(struct profile_writer *w)
{
	if (w->open)
		output_close(&w->out, w->log);
	symbols_free(w->names);
	profile_rows_release(&w->rows);
	map_release(&w->allocated);
}

const uint32_t *profile_frames(struct symbols *names, enum profile_of of,
			       const struct profile_row *r, uint32_t *count)
{
	return symbols_stack(names, r->stack, of == PROFILE_SAMPLES ? SYMBOLS_TIME : SYMBOLS_CALLER,
			     count);
}

uint64_t profile_weight(const struct profile_row *r)
{
	return r->weight > 0 ? (uint64_t)r->weight : r->samples;
}

void profile_add_process(struct text *out, const struct trace *t, uint32_t process)
{
	const struct t_process *p = &t->processes[process];

	text_add(out, name_program(p));
	if (p->rank != UINT32_MAX)
		text_addf(out, " rank %u", p->rank);
	else if (t->processes_count > 2)
		text_addf(out, " %u", p->pid);
}

void profile_add_thread(struct text *out, const struct trace *t, uint32_t thread)
{
	const struct t_thread *th = &t->threads[thread];

	text_addf(out, "%s %u%s", th->name[0] ? th->name : "thread", th->tid,
		  th->own ? " (of Kymo)" : "");
}
