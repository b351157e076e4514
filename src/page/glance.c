/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See glance.h. Tracks, rows, ops and names keep their numbers from one part to the next, so that a page can put one in
 * the place of another.
 */
#include "page/glance.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/temporary.h"
#include "formats/raw/read.h"
#include "page/page.h"
#include "stream/trace.h"

enum {
	BYTES = 16
		<< 20, /* of unpacked chunks that are read without effort, in 0.2 s of a processor */
	EFFORT_SHIFT = 2,
	LATE_NS = 1000000000,
	DRAWN_MOST = 1 << 19 /* records that a page draws without levels */
};

struct page_glances {
	struct raw_trace *rt;
	struct trace *t;
	struct stream_log quiet; /* who reads all of it says what is wrong */
	struct filter_binding b;
	kymo_status_t bound;           /* whether the selection is one of this trace */
	bool chosen;                   /* a selection: [from, to] of the binding are its own */
	struct filter_windows windows; /* that it has */
	struct filter_window at[PAGE_WINDOWS_MOST];
	struct page page; /* its data alone */
	struct text first;
	pthread_mutex_t reading;
};

static void say_nothing(struct stream_log *l, int severity, const char *text)
{
}

/* ---- which windows ------------------------------------------------------------------------------ */

/* What there is to read of the windows. */
struct load {
	uint64_t bytes, chunks;
	uint32_t threads;
	bool elsewhere; /* some of it may tell of other times than its own */
	bool late;      /* so may some that is left out */
};

static void weigh_span(struct page_glances *g, const struct spans *s, const struct span *x,
		       bool *seen, struct load *load)
{
	bool elsewhere = x->first == INT64_MIN;
	struct raw_block block;

	if (!x->wanted) {
		load->late |= elsewhere && x->end >= g->at[0].from &&
			      filter_process(&g->b, g->rt->processes[x->process].process);
		return;
	}
	raw_file_block(&g->rt->processes[x->process].file, x->block, &block);
	load->bytes += block.raw;
	load->chunks++;
	load->threads += !seen[x->thread];
	load->elsewhere |= elsewhere;
	seen[x->thread] = true;
}

static bool weigh(struct page_glances *g, struct load *load)
{
	bool *seen = calloc(g->t->threads_count + 1u, sizeof(*seen));
	struct spans s = {0};
	bool ok = seen && spans_find(&s, g->rt, &g->b) == KYMO_OK;

	*load = (struct load){0};
	for (uint32_t i = 0; ok && i < s.count; i++)
		weigh_span(g, &s, &s.at[i], seen, load);
	spans_release(&s);
	free(seen);
	return ok;
}

/* The longer after a window devices may tell of it, the more is to be read: as long as `bytes` allow. */
static bool weigh_late(struct page_glances *g, uint64_t bytes, struct load *load)
{
	for (g->windows.late = LATE_NS;; g->windows.late /= 4) {
		if (!weigh(g, load))
			return false;
		if (load->bytes <= bytes || !load->elsewhere || !g->windows.late)
			return true;
	}
}

static int64_t node(const struct page_glances *g, int64_t time)
{
	return (int64_t)((uint64_t)g->t->origin + (uint64_t)time);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What the selection is of, in the window; all of it where that is nothing. */
static struct page_window selected(const struct page_glances *g, const struct page_glance *w)
{
	struct page_window part = {w->start, w->end};

	if (!g->chosen)
		return part;
	if (g->b.from > node(g, w->start))
		part.start = earlier(g->b.from - node(g, 0), w->end);
	if (g->b.to < node(g, w->end) - 1)
		part.end = later(g->b.to - node(g, 0) + 1, w->start);
	return part.end > part.start ? part : (struct page_window){w->start, w->end};
}

static void add_window(struct page_glance *w, int64_t start, int64_t end)
{
	if (end > start)
		w->at[w->count++] = (struct page_window){start, end};
}

/*
 * Of each window the chunks of all threads at that time are read, however short it is: as many windows as there can be of
 * a quarter of the time that a chunk lasts, then as long as there can be. Where the selection has nothing, nothing is to
 * be read.
 */
static void choose(const struct page_glances *g, struct page_glance *w, const struct load *load,
		   uint64_t bytes)
{
	const struct page_window part = selected(g, w);
	const double most = PAGE_WINDOWS_MOST - 2; /* and what lies around the selection */
	int64_t length = part.end - part.start, one, step;
	double share = (double)bytes / (double)load->bytes;
	double each = (double)load->chunks / load->threads; /* chunks of a thread */
	double count = share * each / 1.25;

	count = count < 1 ? 1 : count > most ? most : floor(count);
	one = (int64_t)((double)length * fmax(share / count - 1 / each, 0.25 / each));
	step = length / (int64_t)count;
	one = one < 1 ? 1 : one > step ? step : one;
	w->count = 0;
	add_window(w, w->start, part.start);
	for (uint32_t i = 0; i < (uint32_t)count; i++) {
		int64_t start = part.start + (int64_t)i * step + (step - one) / 2;

		add_window(w, start, start + one);
	}
	add_window(w, part.end, w->end);
}

/* These are read from now on. */
static void set_windows(struct page_glances *g, const struct page_glance *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		g->at[i] =
			(struct filter_window){node(g, w->at[i].start), node(g, w->at[i].end) - 1};
	g->windows.count = w->count;
	if (g->chosen)
		return;
	g->b.from = g->at[0].from;
	g->b.to = g->at[w->count - 1].to;
}

static bool plan(struct page_glances *g, struct page_glance *w, uint64_t bytes)
{
	struct load load;
	bool ok;

	w->count = 1;
	w->at[0] = (struct page_window){w->start, w->end};
	set_windows(g, w);
	ok = weigh_late(g, bytes, &load);
	if (ok && load.bytes > bytes) {
		choose(g, w, &load, bytes);
		set_windows(g, w);
		ok = weigh_late(g, 2 * bytes, &load);
	}
	w->late = load.late;
	return ok;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* All tracks of threads, also of those that do nothing in this part, so that they stay where they are. */
static void add_tracks(struct page_glances *g)
{
	struct page_data *d = &g->page.data;

	if (g->chosen)
		return; /* of a selection nobody knows which have something */
	for (uint32_t i = 1; i < g->t->threads_count; i++)
		if (!d->draws || d->draws[g->t->threads[i].process])
			page_track_of_thread(d, g->t->threads[i].process, i);
	for (uint32_t i = 1; i < g->t->queues_count; i++)
		if (!d->draws || d->draws[g->t->queues[i].process])
			page_track_of_queue(d, g->t->queues[i].process, g->t->queues[i].agent, i);
}

static kymo_status_t read_windows(struct page_glances *g)
{
	struct page_data *d = &g->page.data;
	kymo_status_t status = page_data_again(d);

	if (status == KYMO_OK)
		status = raw_trace_read_bound(g->rt, &g->b, &d->sink);
	if (status == KYMO_OK)
		status = d->sink.end(&d->sink, g->t);
	return status == KYMO_OK ? page_data_finish(d, NULL) : status;
}

static kymo_status_t encode(struct page_glances *g)
{
	struct page *p = &g->page;
	kymo_status_t status = page_encode_init(
		&p->encoded, (struct page_temporary){temporary_directory(), &g->quiet});

	p->encoded.sections.level = 1; /* it goes no farther than this machine */
	p->plan = (struct page_plan){.links = true, .ids = true, .most = UINT64_MAX};
	if (status == KYMO_OK)
		status = p->data.records > DRAWN_MOST ? page_encode_levels(&p->encoded, &p->data)
						      : page_encode_curves(&p->encoded, &p->data);
	return status == KYMO_OK ? page_encode_slices(&p->encoded, &p->data, &p->plan, NULL, NULL)
				 : status;
}

static bool put_sections(const struct sections *s, struct text *out)
{
	char portion[1 << 14];
	uint64_t at = 0;

	while (at < s->end) {
		ssize_t n = pread(s->fd, portion, sizeof(portion), (off_t)at);

		if (n <= 0)
			return false;
		text_add_bytes(out, portion, (size_t)n);
		at += (uint64_t)n;
	}
	return true;
}

static bool put_answer(struct page_glances *g, const struct page_glance *w, struct text *out)
{
	size_t n = 0;
	char *head = page_head(&g->page, w, &n);
	uint64_t bytes = n;
	bool ok = head != NULL;

	text_add_bytes(out, (const char *)&bytes, sizeof(bytes));
	if (ok)
		text_add_bytes(out, head, n);
	ok = ok && put_sections(&g->page.encoded.sections, out);
	free(head);
	return ok && !out->failed;
}

static bool make(struct page_glances *g, struct page_glance *w, unsigned effort, struct text *out)
{
	bool ok = plan(g, w, (uint64_t)BYTES << (EFFORT_SHIFT * effort)) &&
		  read_windows(g) == KYMO_OK && encode(g) == KYMO_OK && put_answer(g, w, out);

	page_encode_release(&g->page.encoded);
	return ok;
}

/* Times that are in the trace, and something between them. */
static void bound(const struct page_glances *g, struct page_glance *w)
{
	int64_t length = (int64_t)g->page.data.length + 1;

	w->start = w->start < length - 1 ? w->start : length - 1;
	w->end = w->end > w->start ? w->end : w->start + 1;
	w->end = w->end < length ? w->end : length;
}

/* The first one of all is kept: each page begins with it. */
static bool copy_first(struct page_glances *g, struct page_glance *w, struct text *out)
{
	int64_t end = w->end;

	while (!g->first.length) {
		bool ok = make(g, w, 0, &g->first);

		w->end = INT64_MAX;
		bound(g, w);
		if (!ok || w->end > end)
			text_release(&g->first);
		if (!ok)
			return false;
		end = w->end; /* something goes on behind what was known to be the end */
	}
	text_add_bytes(out, g->first.s, g->first.length);
	return !out->failed;
}

bool page_glance(struct page_glances *g, int64_t start, int64_t end, unsigned effort,
		 struct text *out)
{
	struct page_glance w = {.start = start, .end = end};
	bool ok;

	pthread_mutex_lock(&g->reading);
	bound(g, &w);
	ok = !effort && w.start == 0 && end == INT64_MAX ? copy_first(g, &w, out)
							 : make(g, &w, effort, out);
	pthread_mutex_unlock(&g->reading);
	return ok;
}

bool page_glance_first(struct page_glances *g)
{
	struct text text = {0};
	bool ok = page_glance(g, 0, INT64_MAX, 0, &text);

	text_release(&text);
	return ok;
}

/* ---- life --------------------------------------------------------------------------------------- */

/* Which are like which is not known before all was read. */
static bool choose_processes(struct page_glances *g)
{
	struct clusters *c = &g->page.clusters;
	const struct trace *t = g->t;
	uint32_t count = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		count += !t->processes[i].telemetry && filter_process(&g->b, i);
	if (count <= PAGE_PROCESSES_MOST)
		return true;
	c->draws = calloc(t->processes_count + 1u, sizeof(*c->draws));
	if (!g->b.processes) {
		g->b.processes = malloc(t->processes_count + 1u);
		if (g->b.processes)
			memset(g->b.processes, true, t->processes_count + 1u);
	}
	if (!c->draws || !g->b.processes)
		return false;
	for (uint32_t i = 0; i < t->processes_count; i++) {
		bool other = i == 0 || t->processes[i].telemetry;

		c->draws[i] = other || (g->b.processes[i] && c->drawn < PAGE_PROCESSES_MOST);
		c->drawn += !other && c->draws[i];
		g->b.processes[i] &= c->draws[i];
	}
	g->page.data.draws = c->draws;
	return true;
}

static bool bind(struct page_glances *g, const struct stream_filter *filter)
{
	g->bound = filter_bind(filter, g->t, &g->b);
	if (g->bound == KYMO_OK && filter) {
		g->chosen = true;
		g->page.read.selection = stream_filter_text(filter);
	}
	return g->bound == KYMO_OK && (!filter || g->page.read.selection);
}

static bool prepare(struct page_glances *g, const char *trace, const struct stream_filter *filter)
{
	struct page *p = &g->page;
	struct page_data *d = &p->data;

	if (raw_trace_open(trace, &g->quiet, &g->rt) != KYMO_OK)
		return false;
	g->t = raw_trace_definitions(g->rt);
	if (!bind(g, filter) ||
	    page_data_init(d, (struct page_temporary){temporary_directory(), &g->quiet}) != KYMO_OK)
		return false;
	d->sink.matches = false; /* the other end of a message may be anywhere */
	p->summary = &p->read;
	p->read.trace = g->t;
	p->read.path = (char *)(uintptr_t)trace;
	if (!choose_processes(g) || d->sink.begin(&d->sink, g->t) != KYMO_OK ||
	    d->sink.end(&d->sink, g->t) != KYMO_OK)
		return false;
	add_tracks(g);
	return !d->failed;
}

kymo_status_t page_glances_new(const char *trace, const struct stream_filter *filter,
			       struct page_glances **out)
{
	struct page_glances *g = calloc(1, sizeof(*g));
	kymo_status_t status;

	*out = NULL;
	if (!g)
		return KYMO_OK;
	pthread_mutex_init(&g->reading, NULL);
	g->quiet.message = say_nothing;
	g->page.data.store.fd = g->page.data.points.fd = -1;
	if (prepare(g, trace, filter)) {
		*out = g;
		return KYMO_OK;
	}
	status = g->bound;
	page_glances_free(g);
	return status;
}

bool page_glances_look(struct page_glances *g)
{
	bool ok = raw_trace_look_ahead(g->rt, &g->b) == KYMO_OK;

	g->windows.at = g->at;
	g->b.windows = &g->windows;
	return ok;
}

void page_glances_free(struct page_glances *g)
{
	if (!g)
		return;
	filter_unbind(&g->b);
	free(g->page.read.selection);
	text_release(&g->first);
	page_data_release(&g->page.data);
	clusters_release(&g->page.clusters);
	if (g->rt)
		raw_trace_close(g->rt);
	pthread_mutex_destroy(&g->reading);
	free(g);
}
