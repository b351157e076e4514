/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path in the head of a page: which rank the run waits for, when. The diagnosis knows it. */
#include <inttypes.h>
#include <stdlib.h>

#include "page/page.h"
#include "report/findings.h"

enum { SECTIONS_MOST = 20000 };

/* NULL: the path is known. */
static const char *unknown(const struct diagnosis *d)
{
	const struct waits *w = d ? &d->waits : NULL;

	if (!w)
		return "the trace has no records that tell it";
	if (w->ranks_count < 2)
		return "it goes through waits of ranks for each other, and fewer than two ranks "
		       "communicate here";
	if (d->tl->counted)
		return "calls were counted, not recorded: who waited for whom is not known";
	if (d->tl->cut)
		return "the trace has too many records: who waited for whom is not known";
	if (timeline_missing(d->tl))
		return "records were lost: who waited for whom is not known";
	if (d->tl->chosen || d->tl->partial || timeline_pauses(d->tl))
		return "only a part was recorded, or selected: who waited for whom is not known";
	if (w->unaligned)
		return "clocks of ranks on different nodes were not compared: who waited for whom "
		       "is not known";
	if (!w->count)
		return "no rank is seen to wait for another";
	return NULL;
}

/* Where a rank is drawn: its thread that communicates most, or its process; -1: nowhere. */
static int track_of(const struct page_data *d, const struct waits_rank *r)
{
	if (r->thread && r->thread < d->t->threads_count && d->of_thread[r->thread])
		return (int)d->of_thread[r->thread] - 1;
	return (int)d->of_process[r->process] - 1;
}

static int longest_first(const void *a, const void *b)
{
	const struct waits_section *const *x = a, *const *y = b;
	int64_t one = (*x)->end - (*x)->start, other = (*y)->end - (*y)->start;

	return one != other ? (one < other) - (one > other) : (*x > *y) - (*x < *y);
}

static int first_first(const void *a, const void *b)
{
	const struct waits_section *const *x = a, *const *y = b;

	return ((*x)->start > (*y)->start) - ((*x)->start < (*y)->start);
}

static void put_section(FILE *out, const struct page *p, const struct waits_section *s)
{
	const struct waits *w = &p->diagnosis->waits;
	const struct page_data *d = &p->data;
	int waits = -1, op = -1;

	if (s->wait != TIMELINE_NONE) {
		waits = (int)w->list[s->wait].rank;
		op = (int)d->of_op[p->diagnosis->tl->calls[w->list[s->wait].call].op] - 1;
	}
	fprintf(out, "[%" PRId64 ",%" PRId64 ",%u,%d,%d]", s->start - d->origin, s->end - d->origin,
		s->rank, waits, op);
}

static void put_sections(FILE *out, const struct page *p)
{
	const struct waits *w = &p->diagnosis->waits;
	const struct waits_section **all = calloc((size_t)w->path_count + 1, sizeof(*all));
	uint32_t count = all ? w->path_count : 0;

	for (uint32_t i = 0; i < count; i++)
		all[i] = &w->path[i];
	if (count > SECTIONS_MOST) {
		qsort(all, count, sizeof(*all), longest_first);
		count = SECTIONS_MOST;
	}
	if (count)
		qsort(all, count, sizeof(*all), first_first);
	for (uint32_t i = 0; i < count; i++) {
		fputs(i ? "," : "", out);
		put_section(out, p, all[i]);
	}
	fprintf(out, "], \"left_out\": %u", w->path_count - count);
	free(all);
}

void page_put_path(FILE *out, const struct page *p)
{
	const struct waits *w = p->diagnosis ? &p->diagnosis->waits : NULL;
	const char *why = unknown(p->diagnosis);
	char rank[32];

	if (why) {
		fputs("{\"unknown\": ", out);
		json_string(out, why);
		fputs("}", out);
		return;
	}
	fputs("{\"unknown\": null, \"ranks\": [", out);
	for (uint32_t i = 0; i < w->ranks_count; i++) {
		fputs(i ? ", [" : "[", out);
		json_string(out, waits_rank_text(w, i, rank));
		fprintf(out, ", %d]", track_of(&p->data, &w->ranks[i]));
	}
	fputs("], \"sections\": [", out);
	put_sections(out, p);
	fputs("}", out);
}
