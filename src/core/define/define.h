/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions: strings, agents, queues, kernels, clocks and whatever else records refer to.
 *
 * Invariants. Everything defined is kept in the order in which it was defined, under core_live->define, and is
 * written to every buffer before a record that needs it can be. An id is given once in a process and never again.
 * Tools are told of objects from the definitions, with no lock held.
 */
#ifndef CORE_DEFINE_H
#define CORE_DEFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/tool.h>

#include "base/locks.h"
#include "core/capture.h"
#include "core/process/process.h"

struct core_buffer;
struct core_context;

/* ---- definitions (define.c) ---- */

/* Between these a handler of the program's does not run: what it defines would wait for its own thread. */
static inline void core_definitions_hold(uint64_t *before) ACQUIRES(core_live->define)
{
	core_signals_block(before);
	pthread_mutex_lock(&core_live->define);
}

static inline void core_definitions_let_go(const uint64_t *before) RELEASES(core_live->define)
{
	pthread_mutex_unlock(&core_live->define);
	core_signals_restore(before);
}

/* Writes all definitions so far to a buffer that has just been made. */
void core_define_replay(struct core_buffer *b);
void core_define_process(void);
void core_define_process_end(uint32_t how);
void core_define_tick_sync(void);
void core_define_fork_child(void);
/* The process begins now, for a recording that is to come: what was recorded before is no part of it. */
void core_define_anew(void);
extern _Atomic uint64_t core_untraced, core_untimed;
/* Copies of definitions, to be freed by the caller, who holds `define`. NULL: none, or no memory. */
uint8_t *core_definitions_copy(bool (*wanted)(const struct wire_def *d), size_t *bytes)
	REQUIRES(core_live->define);
uint8_t *core_definition_find(uint16_t kind, uint64_t id, struct wire_def *out);

/* What is defined now is kept and written. */
static inline bool core_defines(void)
{
	return core_live && (atomic_load(&core_live->magic) || core_usable());
}

/* Of the program's file, as it was at first. */
const char *core_program_path(void);

/* ---- modules (modules.c) ---- */

/*
 * Tells the modules that were loaded since they were told, which costs a walk over no object if there are none. Any thread that holds no lock of
 * Kymo's, also in a handler; keeps errno.
 */
void core_define_modules(void);
void core_modules_fork_child(void);

/* Recording into the buffer begins or stops: `tick` 0, with the process. */
void core_define_recording(const struct core_buffer *b, bool on, uint64_t tick);

/* As the framework calls it that the calling thread is in, or NULL (origin.c). */
const char *core_framework_device(void);

/* ---- kernels that frameworks generate (origin.c) ---- */
/* `d`, or, of a kernel that a framework generated, the same with the user's name, in `room`. */
const struct wire_def *core_kernel_named(const struct wire_def *d, struct wire_def *room);

/* ---- what tools are told of that is there (objects.c) ---- */
/* A runtime is there. Caller holds no lock. */
void core_objects_runtime(const struct cap_domain *domain);
/* What was defined, if it is something that tools are told of. */
void core_objects_defined(const struct wire_def *d);
/* A thread began, or ends. */
void core_objects_thread(const struct wire_def *d, bool start);
void core_objects_fork_child(void);
/*
 * Tells what is there already to contexts that have just begun to want it: to `only`, or (NULL) to
 * all whose services do not wait. Caller holds no lock.
 */
void core_objects_replay(const struct core_context *only);
/* Some service of the context is told of objects. Caller holds `configure`. */
bool core_objects_selected(const struct core_context *c) REQUIRES(core_live->configure);

/* ---- stacks of tools (stack.c) ---- */
/* From now on stacks are kept for tools to ask for. */
void core_stacks_keep(void);
/* A stack has got its id. */
void core_stack_defined(uint32_t id, const uint64_t *addresses, uint32_t count);
void core_stacks_fork_child(void);

/* ---- clocks of agents (device_clock.c) ---- */
/* What was defined, if it is a clock, a reading of one, or an agent. */
void core_clock_defined(const struct wire_def *d);

#endif
