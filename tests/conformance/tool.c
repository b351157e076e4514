/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that checks what every tool is promised, whatever runtimes there are: it knows activity
 * domains and the generic calls only. It watches the same things by callbacks and by a buffer, a
 * third context starts late, and at the end everything is compared. What did not hold, and how
 * often each promise was looked at, goes to the file CONFORMANCE_OUT.
 *
 * CONFORMANCE_BYTES: a buffer so small that records are dropped. CONFORMANCE_LATE: calls after
 * which the third context starts.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/kymo.h>

#include "conformance.h"

static struct list told, delivered, late; /* by callbacks, by the buffer, by the late context */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kymo_context_t by_callback, by_buffer, by_late;
static kymo_buffer_t buffer;
static _Atomic uint64_t calls_seen;
static uint64_t late_after = 20, began;

/* ---- what is kept of a record ---- */

static struct event *append(struct list *l)
{
	if (l->count == l->room) {
		l->room = l->room ? l->room * 2 : 4096;
		l->events = realloc(l->events, l->room * sizeof(*l->events));
		if (!l->events)
			abort();
	}
	memset(&l->events[l->count], 0, sizeof(l->events[0]));
	return &l->events[l->count++];
}

typedef kymo_status_t (*value_fn)(const void *record, uint32_t index, kymo_value_t *out);

static kymo_status_t callback_value(const void *record, uint32_t index, kymo_value_t *out)
{
	return kymo_callback_value(record, index, out);
}

static kymo_status_t record_value(const void *record, uint32_t index, kymo_value_t *out)
{
	return kymo_record_value(record, index, out);
}

static void keep_field(struct event *e, const kymo_field_t *f, const kymo_value_t *v)
{
	static const struct {
		const char *name;
		size_t at;
	} wanted[] = {
		{"kernel", offsetof(struct event, kernel)},
		{"id", offsetof(struct event, id)},
		{"bytes", offsetof(struct event, bytes)},
		{"source_agent", offsetof(struct event, source)},
		{"destination_agent", offsetof(struct event, destination)},
		{"parent", offsetof(struct event, own_parent)},
		{"correlation", offsetof(struct event, named)},
		{"replayed", offsetof(struct event, replayed)},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (strcmp(f->name, wanted[i].name) == 0)
			*(uint64_t *)((char *)e + wanted[i].at) = v->u;
}

/* What a field's pointer is called: bytes of its name before the last "->"; 0: it is behind none, or no number. */
static size_t pointer_of(const kymo_field_t *f)
{
	const char *arrow = NULL;

	if (f->kind == KYMO_KIND_STRING || f->kind == KYMO_KIND_BYTES || f->kind == KYMO_KIND_ARRAY)
		return 0;
	for (const char *at = f->name; (at = strstr(at, "->")) != NULL; at += 2)
		arrow = at;
	return arrow ? (size_t)(arrow - f->name) : 0;
}

/* `present`: of the field before; `now`: of this one. */
static void keep_member(struct event *e, const kymo_field_t *f, bool *present, bool now)
{
	size_t n = pointer_of(f);

	if (f > e->domain->ops[e->op].fields && n && pointer_of(f - 1) == n &&
	    strncmp(f[-1].name, f->name, n) == 0) {
		e->members++;
		if (now != *present)
			e->split = f->name;
	}
	*present = now;
}

/* All fields by name, and their text: what is compared does not depend on the op. */
static void keep_fields(struct event *e, const void *record, value_fn value)
{
	const kymo_op_desc_t *op = &e->domain->ops[e->op];
	char text[2048], *at = text;
	bool present = false;

	*at = '\0';
	for (uint32_t i = 0; i < op->field_count; i++) {
		kymo_value_t v = {.size = sizeof(v)};
		size_t room = (size_t)(text + sizeof(text) - at), length;

		if (value(record, i, &v) != KYMO_OK) {
			e->without_fields = true;
			return;
		}
		keep_field(e, &op->fields[i], &v);
		keep_member(e, &op->fields[i], &present, v.present);
		/* Of a number behind a NULL pointer a record has 0. */
		v.present |= v.kind != KYMO_KIND_STRING && v.kind != KYMO_KIND_BYTES &&
			     v.kind != KYMO_KIND_ARRAY;
		if (strcmp(op->fields[i].name, "replayed") != 0 && room > 64 &&
		    kymo_value_text(&v, at, room - 2, &length) == KYMO_OK) {
			at += length < room - 2 ? length : room - 3;
			*at++ = '|';
			*at = '\0';
		}
	}
	e->text = strdup(text);
}

static bool is_activity(const kymo_domain_desc_t *d, uint32_t op)
{
	return d->ops[op].flags & KYMO_OP_ACTIVITY;
}

/* ---- the three contexts ---- */

static void push_name(uint32_t thread)
{
	static _Thread_local bool pushed;

	if (pushed)
		return;
	pushed = true;
	if (kymo_external_push(by_callback, NAME_OF(thread)) != KYMO_OK ||
	    kymo_external_push(by_buffer, NAME_OF(thread)) != KYMO_OK)
		fail("external", "a thread's name was not taken");
}

static void seen(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	struct list *l = data;
	struct event *e;

	pthread_mutex_lock(&lock);
	e = append(l);
	e->domain = r->domain;
	e->op = r->op;
	e->phase = r->phase;
	e->thread = r->thread;
	e->call = r->correlation;
	e->parent = r->parent;
	e->external = r->external;
	e->scope = r->scope;
	e->status = r->status;
	e->start = r->start;
	e->end = r->end;
	e->now = kymo_time();
	if (r->phase != KYMO_PHASE_ENTER && l != &late)
		keep_fields(e, r, callback_value);
	else if (l == &late && r->phase == KYMO_PHASE_COMPLETE)
		keep_fields(e, r, callback_value);
	if (r->phase == KYMO_PHASE_ENTER) {
		*r->user = r->correlation * 3;
	} else if (r->phase == KYMO_PHASE_EXIT && *r->user != r->correlation * 3) {
		fail("user", "the word of call %llu was not kept",
		     (unsigned long long)r->correlation);
	}
	pthread_mutex_unlock(&lock);
	if (l == &late)
		return;
	if (r->phase == KYMO_PHASE_ENTER)
		push_name(r->thread);
	if (r->phase == KYMO_PHASE_EXIT && atomic_fetch_add(&calls_seen, 1) + 1 == late_after &&
	    kymo_context_start(by_late) != KYMO_OK)
		fail("late", "the late context did not start");
}

static void deliver(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	struct event *e;

	pthread_mutex_lock(&lock);
	e = append(&delivered);
	e->domain = r->domain;
	e->op = r->op;
	e->phase = is_activity(r->domain, r->op) ? KYMO_PHASE_COMPLETE : KYMO_PHASE_EXIT;
	e->thread = r->thread;
	e->call = r->correlation;
	e->parent = r->parent;
	e->external = r->external;
	e->scope = r->scope;
	e->status = r->status;
	e->start = r->start;
	e->end = r->end;
	keep_fields(e, r, record_value);
	pthread_mutex_unlock(&lock);
}

/*
 * What the two views have in common. Threads and runtimes are told when a context starts, and
 * samples go into buffers alone; ranges of annotations are two records with callbacks.
 */
static bool common(const kymo_domain_desc_t *d, uint32_t op, void *data)
{
	static const char *const others[] = {"thread", "runtime_init", "sample", "marker",
					     "nvtx",   "itt",          "kokkos", "counter"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(d->name, others[i]) == 0)
			return false;
	return true;
}

static kymo_status_t initialize(void *data)
{
	const char *bytes = getenv("CONFORMANCE_BYTES"), *after = getenv("CONFORMANCE_LATE");
	kymo_selection_t s = {.size = sizeof(s), .select = common};
	kymo_selection_t kernels = {.size = sizeof(kernels), .domain = "kernel_symbol"};
	kymo_selection_t dispatches = {.size = sizeof(dispatches), .domain = "dispatch"};
	kymo_buffer_desc_t d = {.size = sizeof(d),
				.deliver = deliver,
				.arguments = KYMO_ARGUMENTS_FULL,
				.policy = KYMO_POLICY_BLOCK,
				.block_ns = 5000000000u};

	began = kymo_time();
	if (bytes) {
		d.bytes = strtoull(bytes, NULL, 0);
		d.policy = KYMO_POLICY_DROP;
	}
	if (after)
		late_after = strtoull(after, NULL, 0);
	if (kymo_context_create(&by_callback) || kymo_context_create(&by_buffer) ||
	    kymo_context_create(&by_late) || kymo_callback_service(by_callback, &s, seen, &told) ||
	    kymo_buffer_create(by_buffer, &d, &buffer) ||
	    kymo_buffer_service(by_buffer, &s, buffer) ||
	    kymo_callback_service(by_late, &kernels, seen, &late) ||
	    kymo_callback_service(by_late, &dispatches, seen, &late))
		return KYMO_ERROR_STATE;
	return kymo_context_start(by_buffer) || kymo_context_start(by_callback) ? KYMO_ERROR_STATE
										: KYMO_OK;
}

static void finalize(void *data)
{
	kymo_buffer_info_t info = {.size = sizeof(info)};
	const char *name = getenv("CONFORMANCE_OUT");
	FILE *out = name ? fopen(name, "w") : NULL;

	if (!out)
		return;
	pthread_mutex_lock(&lock);
	if (kymo_buffer_info(buffer, &info) != KYMO_OK)
		fail("drops", "the buffer says nothing of itself");
	check_times(&told, began, kymo_time());
	check_times(&delivered, began, kymo_time());
	check_pairs(&told);
	check_unique(&delivered);
	check_retired(&told);
	check_external(&told, &told);
	check_external(&told, &delivered);
	check_announced(&told);
	check_announced(&late);
	check_dispatches(&told);
	check_copies(&told);
	check_allocations(&told);
	check_scopes(&told);
	check_members(&told);
	check_drops(&told, &delivered, info.lost, info.delivered);
	if (!info.lost)
		check_same(&told, &delivered);
	report(out);
	fclose(out);
	pthread_mutex_unlock(&lock);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library_version,
					      uint32_t priority);

const kymo_tool_t *kymo_configure(uint32_t version, const char *library_version, uint32_t priority)
{
	static const kymo_tool_t tool = {.size = sizeof(tool),
					 .name = "conformance",
					 .initialize = initialize,
					 .finalize = finalize};

	return getenv("CONFORMANCE_OUT") ? &tool : NULL;
}
