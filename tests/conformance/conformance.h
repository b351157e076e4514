/* SPDX-License-Identifier: Apache-2.0 */
/* What the conformance tool keeps of records, and the promises that it checks (checks.c). */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <kymo/kymo.h>

#define NAME_OF(thread) (1000000u + (thread)) /* the external id of a thread's calls */

struct event {
	const kymo_domain_desc_t *domain;
	uint32_t op;
	kymo_phase_t phase;
	uint32_t thread;
	uint64_t call, parent, external;
	int64_t scope;
	int32_t status;
	uint64_t start, end; /* 0 of ENTER and EXIT as callbacks tell them */
	uint64_t now;        /* when the callback was made */
	char *text;          /* all fields */
	bool without_fields;
	/* Numbers behind the same pointer as the field before; one of them that is there where that one is not, or the reverse. */
	uint32_t members;
	const char *split;
	/* fields of that name, 0 where the op has none */
	uint64_t kernel, id, bytes, source, destination, own_parent, named, replayed;
};

struct list {
	struct event *events;
	size_t count, room;
};

void fail(const char *promise, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Failures, and how often each promise was looked at. */
void report(FILE *out);

void check_times(const struct list *l, uint64_t began, uint64_t ended);
void check_pairs(const struct list *l);
void check_unique(const struct list *l);
void check_retired(const struct list *l);
void check_external(const struct list *calls, const struct list *l);
void check_announced(const struct list *l);
void check_dispatches(const struct list *l);
void check_copies(const struct list *l);
void check_allocations(const struct list *l);
void check_scopes(const struct list *l);
void check_drops(const struct list *told, const struct list *delivered, uint64_t lost,
		 uint64_t count);
void check_members(const struct list *l);
void check_same(const struct list *told, const struct list *delivered);

#endif
