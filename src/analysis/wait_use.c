/* SPDX-License-Identifier: Apache-2.0 */
/* See wait_use.h. */
#include "analysis/wait_use.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call_use.h"
#include "base/hash.h"
#include "base/vec.h"

enum { OTHER = 1, SLEEPS, POLLS, SIGNALS, CHILDREN, LOCKS, YIELDS };

static uint8_t what_is(const char *name)
{
	static const struct {
		const char *name;
		uint8_t is;
	} known[] = {
		{"nanosleep", SLEEPS},    {"clock_nanosleep", SLEEPS},
		{"usleep", SLEEPS},       {"sleep", SLEEPS},
		{"poll", POLLS},          {"ppoll", POLLS},
		{"select", POLLS},        {"pselect", POLLS},
		{"epoll_wait", POLLS},    {"epoll_pwait", POLLS},
		{"epoll_pwait2", POLLS},  {"sigwait", SIGNALS},
		{"sigwaitinfo", SIGNALS}, {"sigtimedwait", SIGNALS},
		{"sigsuspend", SIGNALS},  {"pause", SIGNALS},
		{"wait", CHILDREN},       {"waitpid", CHILDREN},
		{"wait3", CHILDREN},      {"wait4", CHILDREN},
		{"waitid", CHILDREN},     {"futex", LOCKS},
		{"sched_yield", YIELDS},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].is;
	return OTHER;
}

const char *wait_use_kind(const char *op)
{
	static const char *const names[] = {
		[OTHER] = "other",      [SLEEPS] = "sleep", [POLLS] = "poll",  [SIGNALS] = "signal",
		[CHILDREN] = "process", [LOCKS] = "lock",   [YIELDS] = "yield"};

	return names[what_is(op)];
}

bool wait_use_op(const struct trace *t, const struct t_op *op)
{
	return call_use_of(t, op, "wait", what_is) != 0;
}

struct wait_use *wait_use_new(const struct trace *t)
{
	struct wait_use *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->trace = t;
	u->op_is = call_use_ops(t, "wait", what_is);
	if (!u->op_is) {
		free(u);
		return NULL;
	}
	return u;
}

void wait_use_free(struct wait_use *u)
{
	if (!u)
		return;
	map_release(&u->places);
	free(u->op_is);
	free(u->rows);
	free(u);
}

static struct wait_use_row *row_of(struct wait_use *u, const struct rec *r, const char *kinds)
{
	const uint64_t hash =
		hash_mix(hash_u64((uint64_t)r->op << 32 | r->site), hash_string(kinds));
	uint64_t i;

	map_each(&u->places, hash, i) {
		struct wait_use_row *row = &u->rows[i - 1];

		if (row->op == r->op && row->site == r->site && strcmp(row->kinds, kinds) == 0)
			return row;
	}
	if (!vec_reserve(&u->rows, &u->rows_room, u->rows_count, 1) ||
	    !map_add(&u->places, hash, u->rows_count + 1u)) {
		u->failed = true;
		return NULL;
	}
	u->rows[u->rows_count] =
		(struct wait_use_row){.op = r->op, .site = r->site, .kinds = kinds};
	return &u->rows[u->rows_count++];
}

enum word { TIMEOUT, READY, KINDS, TIMED_OUT, WORDS };

/*
 * A sleep that nothing interrupted; a poll after which nothing is ready; a wait that says that its limit ended it. Of a word
 * that is not there nothing is known.
 */
static bool has_timed_out(uint8_t is, const struct rec *r, uint32_t there, const uint64_t *words)
{
	if (!r->ok)
		return false;
	if (is == POLLS)
		return there & 1u << READY && !words[READY];
	return is == SLEEPS || words[TIMED_OUT];
}

void wait_use_call_wanted(struct wait_use *u, const struct rec *r)
{
	static const char *const names[WORDS] = {"timeout", "ready", "kinds", "timed_out"};
	const struct trace *t = u->trace;
	const uint64_t ns = r->end > r->start ? (uint64_t)(r->end - r->start) : 0;
	uint64_t words[WORDS];
	const uint32_t there = call_use_words(t, r, names, WORDS, words);
	const char *kinds = there & 1u << KINDS && words[KINDS] < t->strings_count &&
					    t->strings[words[KINDS]].text
				    ? t->strings[words[KINDS]].text
				    : "";
	struct wait_use_row *row = row_of(u, r, kinds);
	bool over;

	if (!row)
		return;
	over = has_timed_out(u->op_is[r->op], r, there, words);
	row->calls++;
	row->ns += ns;
	row->longest_ns = ns > row->longest_ns ? ns : row->longest_ns;
	if (there & 1u << TIMEOUT && (int64_t)words[TIMEOUT] >= 0) {
		row->limited++;
		row->asked_ns += words[TIMEOUT];
	}
	row->timed_out += over;
	row->interrupted += !r->ok && !over;
}
