/* SPDX-License-Identifier: Apache-2.0 */
/* Gives records of launches to handlers; see accesses.h. */
#include "core/counter/accesses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/counter/handler.h"

#define WHY 200u

struct working {
	const struct counter_handler *handler;
	void *state;
	bool at_work;
};

struct cap_accesses {
	struct cap_launch launch;
	kymo_handler_launch_t what;
	struct working all[HANDLERS_MOST];
	uint32_t count, at_work;
	bool mixed; /* some want accesses alone, or blocks alone, and there are both */
	kymo_access_t *some;
	size_t room;
};

/* ---- who wants what ---------------------------------------------------------------------------- */

/* What `--lanes` asks for. */
static const struct counter_handler memory = {.h = &handler_memory,
					      .options = {.size = sizeof(memory.options)},
					      .name = "memory",
					      .own = true};

struct wishes {
	const struct counter_handler *handlers[HANDLERS_MOST];
	uint32_t count;
	const kymo_lanes_profile_t *profile; /* of the first service that has one */
};

static void add_wish(const kymo_kernel_line_desc_t *desc, void *data)
{
	struct wishes *w = data;

	if (!w->profile)
		w->profile = desc->profile ? desc->profile : lanes_profile_of(desc->lanes);
	if (desc->handlers)
		w->count = counter_handlers_get(desc->handlers, w->handlers, w->count);
}

static struct wishes wishes(void)
{
	struct wishes w = {.count = 0};
	bool has_memory = false;

	counter_lines_each(add_wish, &w);
	for (uint32_t i = 0; i < w.count; i++)
		has_memory |= w.handlers[i]->h == &handler_memory;
	if (w.profile && !has_memory && w.count < HANDLERS_MOST)
		w.handlers[w.count++] = &memory;
	if (!w.profile)
		w.profile = lanes_profile_of(32);
	return w;
}

uint32_t cap_accesses_wanted(void)
{
	const struct wishes w = wishes();
	uint32_t wants = 0;

	for (uint32_t i = 0; i < w.count; i++)
		wants |= w.handlers[i]->h->wants;
	return wants;
}

/* ---- calling handlers -------------------------------------------------------------------------- */

static void tell(const struct cap_accesses *a, const struct working *w, const char *function,
		 kymo_status_t status, const char *why)
{
	cap_note(2, "instrument", "handler %s%s left a launch of %s out: %s() said: %s",
		 w->handler->name, w->handler->own ? "" : " (not part of Kymo)", a->what.kernel,
		 function, *why ? why : kymo_status_text(status));
}

static void begin_one(struct cap_accesses *a, const struct counter_handler *handler)
{
	struct working *w = &a->all[a->count++];
	char why[WHY] = "";
	kymo_status_t status;

	w->handler = handler;
	cap_guard_enter();
	status = handler->h->init(&handler->options, &a->what, &w->state, why, sizeof(why));
	cap_guard_leave();
	why[sizeof(why) - 1] = '\0';
	w->at_work = status == KYMO_OK;
	a->at_work += w->at_work;
	if (!w->at_work)
		tell(a, w, "init", status, why);
}

static void finish_one(struct cap_accesses *a, struct working *w)
{
	if (!w->at_work)
		return;
	w->at_work = false;
	a->at_work--;
	cap_guard_enter();
	w->handler->h->finish(w->state);
	cap_guard_leave();
}

static void give(struct cap_accesses *a, struct working *w, const kymo_access_t *records,
		 size_t count)
{
	kymo_status_t status;

	if (!w->at_work || !count)
		return;
	cap_guard_enter();
	status = w->handler->h->on_batch(w->state, records, count);
	cap_guard_leave();
	if (status == KYMO_OK)
		return;
	tell(a, w, "on_batch", status, "");
	finish_one(a, w);
}

/* ---- a launch ---------------------------------------------------------------------------------- */

struct cap_accesses *cap_accesses_begin(const struct cap_launch *launch,
					const kymo_handler_launch_t *what)
{
	struct cap_accesses *a = calloc(1, sizeof(*a));
	const struct wishes w = wishes();
	const int saved = errno;
	uint32_t all = 0;

	if (!a)
		return NULL;
	a->launch = *launch;
	a->what = *what;
	a->what.size = sizeof(a->what);
	a->what.correlation = launch->correlation;
	a->what.agent = launch->agent;
	a->what.kernel = launch->name ? launch->name : "";
	a->what.profile = *w.profile;
	for (uint32_t i = 0; i < w.count; i++) {
		all |= w.handlers[i]->h->wants;
		begin_one(a, w.handlers[i]);
	}
	for (uint32_t i = 0; i < a->count; i++)
		a->mixed |= a->all[i].handler->h->wants != all;
	errno = saved;
	if (a->at_work)
		return a;
	free(a);
	return NULL;
}

static bool is_access(const struct cap_accesses *a, const kymo_access_t *r)
{
	return a->what.sites[r->site].kind < KYMO_SITE_BLOCK;
}

/* Those of the accesses, or of all else, in `some`. */
static size_t choose(struct cap_accesses *a, const kymo_access_t *records, size_t count,
		     bool accesses)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (is_access(a, &records[i]) == accesses)
			a->some[n++] = records[i];
	return n;
}

static bool have_room(struct cap_accesses *a, size_t count)
{
	kymo_access_t *more;

	if (!a->mixed || count <= a->room)
		return true;
	more = realloc(a->some, count * sizeof(*more));
	if (!more)
		return false;
	a->some = more;
	a->room = count;
	return true;
}

static void give_all(struct cap_accesses *a, uint32_t wants, const kymo_access_t *records,
		     size_t count)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->all[i].handler->h->wants == wants)
			give(a, &a->all[i], records, count);
}

/* What handlers are given they may take as true. */
static bool sane(const struct cap_accesses *a, const kymo_access_t *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (records[i].site >= a->what.site_count || records[i].item >= a->what.group)
			return false;
	return true;
}

const char *cap_accesses_take(struct cap_accesses *a, const kymo_access_t *records, size_t count)
{
	const int saved = errno;

	if (!sane(a, records, count))
		return "its accesses are not as they can be";
	if (!have_room(a, count))
		return "there was no memory for its accesses";
	if (a->mixed) {
		give_all(a, KYMO_HANDLER_ACCESSES, a->some, choose(a, records, count, true));
		give_all(a, KYMO_HANDLER_BLOCKS, a->some, choose(a, records, count, false));
		give_all(a, KYMO_HANDLER_ACCESSES | KYMO_HANDLER_BLOCKS, records, count);
	} else {
		for (uint32_t i = 0; i < a->count; i++)
			give(a, &a->all[i], records, count);
	}
	errno = saved;
	return a->at_work ? NULL : "its accesses are not as they can be";
}

/* By the places that its sites have. */
static void write_memory(const struct cap_accesses *a, const struct working *w)
{
	const kymo_lanes_profile_t *profile;
	const struct lanes_count *counts = handler_memory_counts(w->state, &profile);

	for (uint32_t i = 0; i < a->what.site_count; i++)
		if (a->what.sites[i].place && counts[i].accesses)
			cap_lines_write_access(&a->launch, a->what.sites[i].place, profile,
					       &counts[i]);
}

static void report_one(const struct cap_accesses *a, const struct working *w)
{
	kymo_status_t status = counter_handler_report(w->handler, w->state, &a->launch, &a->what);

	if (status != KYMO_OK)
		tell(a, w, "report", status, "");
}

void cap_accesses_end(struct cap_accesses *a, bool complete)
{
	const int saved = errno;
	bool written = false;

	if (!a)
		return;
	for (uint32_t i = 0; i < a->count; i++) {
		struct working *w = &a->all[i];

		if (complete && w->at_work && w->handler->h == &handler_memory && !written) {
			write_memory(a, w);
			written = true;
		}
		if (complete && w->at_work && w->handler != &memory)
			report_one(a, w);
		finish_one(a, w);
	}
	free(a->some);
	free(a);
	errno = saved;
}
