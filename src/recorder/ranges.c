/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of ranges that are recorded alone, in the words of docs/selection.md: --range what a thread does in one,
 * --during what the process does meanwhile. What a range is called is known when it begins, so that a name cannot be a
 * pattern for want of a range of that very name, as it is afterwards.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KYMO_MARKER_LINKED /* its types alone */
#include <kymo/marker.h>

#include "recorder/parts.h"

#define PATH_NAMES 64u

/* An open range that is chosen, or that a path goes through. */
struct open {
	struct open *next;
	int64_t scope;
	uint64_t paths; /* bit n: the first n + 1 names of the path end here */
	bool chosen;
};

enum kind { BY_RANGE, BY_DURING, KINDS };

static struct choice {
	const struct recorder_range *range; /* NULL: not asked for */
	size_t at[PATH_NAMES];              /* where each name of the path ends */
	unsigned names;
} choices[KINDS];

/* Of a thread. */
struct mine {
	uint32_t generation; /* of the process that the rest is of: a child's is another one */
	struct open *open;   /* innermost first */
	uint64_t executions;
	uint32_t inside; /* chosen ones that are open */
};
static _Thread_local struct mine mine[KINDS] RECORDER_TLS;
static _Atomic uint32_t generation;

/* Of the process, for --during: under `lock`, so that pauses come in order. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct open *started; /* ranges that any thread may stop */
static uint32_t threads_inside;

static kymo_context_t recorded;

/* ---- names ---- */

static void find_names(struct choice *c)
{
	const char *name = c->range->name;

	c->names = 0;
	for (size_t i = 0; c->names < PATH_NAMES; i++) {
		if (name[i] && name[i] != '/')
			continue;
		c->at[c->names++] = i;
		if (!name[i])
			break;
	}
}

/* Whether the path up to `end` goes on, before the name that begins at `start`, where `around` ends. */
static bool goes_through(const struct choice *c, uint64_t around, size_t start)
{
	for (unsigned i = 0; i < c->names; i++)
		if (c->at[i] + 1 == start)
			return around >> i & 1;
	return false;
}

/* `around`: the paths of the range around it. */
static uint64_t paths_of(const struct choice *c, const char *name, uint64_t around)
{
	size_t n = strlen(name);
	uint64_t paths = 0;

	for (unsigned i = 0; i < c->names; i++) {
		size_t end = c->at[i], start = end - n;

		if (n > end || memcmp(c->range->name + start, name, n) != 0)
			continue;
		if (start == 0 || (n && goes_through(c, around, start)))
			paths |= 1ull << i;
	}
	return paths;
}

static struct open **find(struct open **link, int64_t scope)
{
	while (*link && (*link)->scope != scope)
		link = &(*link)->next;
	return link;
}

static uint64_t paths_around(const struct mine *m, int64_t scope)
{
	struct open *list = m->open, *o = *find(&list, scope);

	return o ? o->paths : 0;
}

static bool has_number(const struct recorder_range *r, uint64_t n)
{
	return !r->numbers_count || recorder_numbers_have(r->numbers, r->numbers_count, n);
}

/* What is to be kept of a range that begins; NULL: nothing. */
static struct open *begin(const struct choice *c, struct mine *m, const kymo_marker_args_t *args,
			  int64_t parent)
{
	uint64_t paths = paths_of(c, args->name, paths_around(m, parent));
	bool chosen = c->range->numbers_count && strcmp(args->name, c->range->text) == 0;
	struct open *o;

	if (paths >> (c->names - 1) & 1)
		chosen |= has_number(c->range, ++m->executions);
	o = paths || chosen ? malloc(sizeof(*o)) : NULL;
	if (o)
		*o = (struct open){.scope = args->scope, .paths = paths, .chosen = chosen};
	return o;
}

/* Takes it out; true if it was chosen. */
static bool end(struct open **list, int64_t scope)
{
	struct open **link = find(list, scope), *o = *link;
	bool chosen = o && o->chosen;

	if (o)
		*link = o->next;
	free(o);
	return chosen;
}

/* What a parent's thread kept stays where it is: it may have been changing. */
static struct mine *mine_of(enum kind kind)
{
	struct mine *m = &mine[kind];
	const uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);

	if (m->generation != now)
		*m = (struct mine){.generation = now};
	return m;
}

/* ---- what begins and ends on one thread ---- */

/* `more`: executions that are open now, or with -1 are not any more. Caller holds the lock. */
static void count_inside(int more)
{
	bool was = threads_inside != 0;

	threads_inside += (uint32_t)more;
	if (was != (threads_inside != 0))
		kymo_context_pause(recorded, was);
}

static void pause_process(bool pause)
{
	pthread_mutex_lock(&lock);
	count_inside(pause ? -1 : 1);
	pthread_mutex_unlock(&lock);
}

static void enter(enum kind kind)
{
	if (mine_of(kind)->inside++)
		return;
	if (kind == BY_RANGE)
		kymo_context_pause_thread(recorded, false);
	else
		pause_process(false);
}

static void leave(enum kind kind)
{
	if (--mine_of(kind)->inside)
		return;
	if (kind == BY_RANGE)
		kymo_context_pause_thread(recorded, true);
	else
		pause_process(true);
}

static void on_range(kymo_context_t from, const kymo_callback_record_t *r, void *data)
{
	struct choice *c = data;
	enum kind kind = c == &choices[BY_RANGE] ? BY_RANGE : BY_DURING;
	const kymo_marker_args_t *args = r->args;
	struct mine *m = mine_of(kind);
	struct open *o;

	if (r->phase != KYMO_PHASE_ENTER) {
		if (end(&m->open, args->scope))
			leave(kind);
		return;
	}
	o = begin(c, m, args, r->scope);
	if (!o)
		return;
	o->next = m->open;
	m->open = o;
	if (o->chosen)
		enter(kind);
}

/* ---- what any thread may end ---- */

/* No thread is in it: only --during has to do with it. Threads count what they start. */
static void on_process_range(kymo_context_t from, const kymo_callback_record_t *r, void *data)
{
	struct choice *c = data;
	enum kind kind = c == &choices[BY_RANGE] ? BY_RANGE : BY_DURING;
	const kymo_marker_args_t *args = r->args;
	struct open *o = NULL;

	if (r->phase == KYMO_PHASE_ENTER)
		o = begin(c, mine_of(kind), args, r->scope);
	if (kind == BY_RANGE || (o && !o->chosen)) {
		free(o);
		return;
	}
	pthread_mutex_lock(&lock);
	if (o) {
		o->next = started;
		started = o;
		count_inside(1);
	} else if (r->phase != KYMO_PHASE_ENTER && end(&started, args->scope)) {
		count_inside(-1);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- set up ---- */

static bool select_named(const kymo_domain_desc_t *domain, uint32_t op, const char *name)
{
	return strcmp(domain->ops[op].name, name) == 0;
}

static bool select_range(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return select_named(domain, op, "range");
}

static bool select_process_range(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return select_named(domain, op, "process_range");
}

static kymo_status_t follow(kymo_context_t control, struct choice *c,
			    const struct recorder_range *range)
{
	kymo_selection_t of_threads = {
		.size = sizeof(of_threads), .domain = "marker", .select = select_range};
	kymo_selection_t of_process = {
		.size = sizeof(of_process), .domain = "marker", .select = select_process_range};
	kymo_status_t status;

	if (!range->text)
		return KYMO_OK;
	c->range = range;
	find_names(c);
	status = kymo_callback_service(control, &of_threads, on_range, c);
	return status == KYMO_OK ? kymo_callback_service(control, &of_process, on_process_range, c)
				 : status;
}

kymo_status_t ranges_follow(kymo_context_t control, kymo_context_t context,
			    const struct recorder_options *options)
{
	kymo_status_t status;

	recorded = context;
	status = follow(control, &choices[BY_RANGE], &options->range);
	if (status == KYMO_OK)
		status = follow(control, &choices[BY_DURING], &options->during);
	return status == KYMO_OK && options->during.text ? kymo_context_pause(context, true)
							 : status;
}

/*
 * The thread that forked is in no range of the child: it begins anew there, paused. This may be another thread, the
 * first that has to do with Kymo.
 */
void ranges_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	started = NULL;
	atomic_fetch_add(&generation, 1);
	/* A range that was just ending may be counted no more, and not paused yet. */
	if (choices[BY_DURING].range)
		kymo_context_pause(recorded, true);
	threads_inside = 0;
}
