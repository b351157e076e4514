/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level Zero: the loader's tables, the objects that calls name, and device work. What is known of
 * the functions is generated from api/ze; vendors' headers are not needed.
 *
 * Work is what a command does each time that it is executed: at once on an immediate list, else
 * each time its list is given to a queue. Its times are those of its event, if that is one with
 * kernel timestamps; they are read after the program's own waits, and before an event goes or is
 * reset.
 *
 * Locks: `collect` first, held while the driver is asked about events, by who asks and by who makes
 * an event go; then `objects`, never held while core, a tool or the driver is called.
 */
#ifndef CAPTURE_ZE_ZE_H
#define CAPTURE_ZE_ZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/table/table.h"
#include "core/activity/activity.h"
#include "core/activity/memory.h"

#define ZE_DOMAIN "level_zero"

/* Structures that are passed by value. */
struct bytes12 {
	uint32_t data[3];
};

struct bytes16 {
	uint64_t data[2];
};

/* ---- generated ---- */

struct ze_table {
	char name[48];         /* of the function that fills it */
	uint32_t first, count; /* its functions are ops of the domain */
};

/* What stands between the wrapper of an op and the driver's function; NULL: nothing. */
void (*ze_shim_of(uint32_t op))(void);
/* Fills the model's list of what runs after calls; before the first table is taken, once. */
void ze_after_fill(void);

extern struct table_model ze_model;
extern const struct ze_table ze_tables[];
extern const uint16_t ze_used[]; /* ops of functions that Kymo calls itself */
extern const unsigned ze_used_count;

#include "gen/ops.h"

/* ---- doors ---- */

extern void *ze_next[ZE_OPS]; /* the driver's functions, or the loader's own; NULL: not there */

/* A table is filled for `caller`, which lies in the loader or wants a table of its own. */
uint32_t ze_take(unsigned table, uint32_t version, void *entries, const void *caller);

/* The same where the loader has filled it and asks its layer for changes. */
uint32_t kymo_ze_layer(unsigned table, uint32_t version, void *entries);

/* ---- arguments ---- */

static inline uint64_t ze_arg(const struct table_call *call, unsigned field)
{
	uint64_t value = 0;

	table_value(call, &call->slot->op->fields[field], true, &value);
	return value;
}

static inline void *ze_pointer(const struct table_call *call, unsigned field)
{
	return (void *)(uintptr_t)ze_arg(call, field);
}

/* The call succeeded, here and not in a child that was forked meanwhile. */
static inline bool ze_succeeded(const struct table_call *call)
{
	return call->frame->op && !call->frame->has_status;
}

/* ---- objects ---- */

enum ze_type { ZE_QUEUE, ZE_LIST, ZE_POOL, ZE_EVENT, ZE_FENCE, ZE_MODULE, ZE_KERNEL };

struct ze_object {
	struct ze_object *next;
	void *handle;
	uint32_t type;
	uint32_t id; /* of its definition, or 0 */
};

struct ze_agent {
	struct ze_agent *next;
	void *device;
	uint32_t id, clock;
	uint64_t frequency;                 /* timer ticks a second; 0: no device times */
	unsigned bits, kernel_bits;         /* of timestamps that are valid */
	uint64_t reference, reference_tick; /* timer, without wraps; guarded by `collect` */
};

struct ze_command {
	bool dispatch, copy; /* else a mark in the queue */
	uint8_t op;          /* of its activity domain */
	uint8_t kinds[2];    /* of memory: source, destination */
	uint32_t kernel;
	uint32_t agents[2];
	uint32_t groups[3], group[3];
	uint64_t memory[2];
	uint64_t bytes;
	void *event; /* handle: the program's, or Kymo's if it gave none */
	struct ze_event *own;
};

struct ze_queue {
	struct ze_object object;
	struct ze_agent *agent;
	bool synchronous;
};

struct ze_list {
	struct ze_object object;
	struct ze_agent *agent;
	void *context;
	bool immediate, synchronous;
	uint32_t queue; /* immediate: id */
	struct ze_command *commands;
	size_t count, room;
};

struct ze_pool {
	struct ze_object object;
	bool timed, forced; /* forced: the program did not ask for that */
};

struct ze_fence {
	struct ze_object object;
	uint32_t queue;
};

struct ze_kernel {
	struct ze_object object;
	uint32_t module; /* id of the program */
	uint32_t group[3];
};

struct ze_event {
	struct ze_object object;
	bool timed, own, busy; /* busy: its work is with a collector */
	bool read;             /* `last` holds what was read from it */
	uint64_t last[2];
	struct ze_work *work;  /* the latest, if not over */
	void *context, *pool;  /* of Kymo's own */
	struct ze_event *next; /* free ones of Kymo's own */
	bool keep;             /* Kymo's own, of a command that may run again */
};

void ze_objects_lock(void);
void ze_objects_unlock(void);
/* With the lock: an object, or NULL. */
void *ze_find(enum ze_type type, const void *handle);

/* A call has set a kernel's group size; fields of the kernel, and of the first of three numbers. */
void ze_group_size(const struct table_call *call, unsigned kernel, unsigned first);
/* Keeps `o`; one of the same handle goes. */
void ze_keep(struct ze_object *o, enum ze_type type, void *handle);
/* Takes it out; the caller frees it. */
void *ze_forget(enum ze_type type, const void *handle);

struct ze_agent *ze_agent_of(void *device);
/* Takes Kymo's own events of a list back. With `objects` locked. */
void ze_list_clear(struct ze_list *l);

/* ---- memory ---- */

/* What an address belongs to; id 0: the program's own. */
struct cap_memory ze_memory_of(const void *address);
/* Around a fork, and in the child. */
void ze_memory_lock(void);
void ze_memory_unlock(void);
void ze_memory_fork_child(void);

/* ---- work ---- */

struct ze_work {
	struct ze_work *next;
	struct ze_agent *agent;
	struct ze_event *event; /* NULL: over, not timed */
	struct ze_command command;
	struct cap_submission submission;
	uint64_t submit_tick, start, duration; /* ns, device clock */
	uint32_t queue;
	uint32_t place; /* where it says that it is under way, or 0 */
	uint8_t untimed;
	bool blocking;
};

/* A call that was recorded has submitted a command. */
void ze_submit(const struct cap_frame *f, struct ze_agent *agent, uint32_t queue, bool blocking,
	       const struct ze_command *c);
/* Looks at what is not over: all of it, or the oldest until some of it is seen not to be. */
void ze_collect(bool all);
/* An event goes or is reset: what it tells is read first. */
void ze_event_last(void *event, bool gone);
/* A device context goes: so do Kymo's own events in it. */
void ze_context_last(void *context);
void ze_flush(uint64_t deadline);
/* Now that the driver is there: what is to be done before it goes. */
void ze_at_exit(void);

void ze_collect_lock(void);
void ze_collect_unlock(void);
/* The process is at its end, and the driver may be no more. */
bool ze_ended(void);

/* ---- clocks ---- */

void ze_clock_start(struct ze_agent *a, const char *name);
/* With `collect` locked: samples it, if that was long ago or `now`. */
void ze_clock_sample(struct ze_agent *a, bool now);
/* Nanoseconds of the device's clock at a kernel timestamp; lengths likewise. */
uint64_t ze_clock_time(const struct ze_agent *a, uint64_t timestamp);
uint64_t ze_clock_length(const struct ze_agent *a, uint64_t from, uint64_t to);

/* ---- events of Kymo's own, in mode full ---- */

/* Recording is as full as can be. */
bool ze_full(void);
/* What a command is to signal: the program's event, or one of Kymo's. */
void *ze_signal(void *list, void *event);
void ze_signal_done(uint32_t result);
/* The event that the call in progress was given, or NULL. */
struct ze_event *ze_signal_taken(void);
/* The description that a pool of events is to be made of instead, in mode full; NULL: the
 * program's. */
void *ze_forced(const void *desc);
/* False: a pool cannot be made so. */
bool ze_forced_done(uint32_t result);
/* The pool that the call in progress made has timestamps that the program did not ask for. */
bool ze_forced_taken(void);
/* It may be used again. With `objects` locked. */
void ze_own_free(struct ze_event *e);
/* A device context goes, and Kymo's events with it. With `collect` locked. */
void ze_own_release(void *context);

#endif
