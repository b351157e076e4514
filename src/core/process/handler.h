/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that signals' handlers make as well: of the C library, to which doors stand before. Their thread may be in the
 * middle of anything, even of a record; then only what takes no lock and no memory may be done.
 */
#ifndef CORE_PROCESS_HANDLER_H
#define CORE_PROCESS_HANDLER_H

#include <stdbool.h>

#include "core/capture.h"

/* Before the first of these: finds what handlers return to. Any thread, as often as wanted. */
void cap_handlers_init(void);

/* The thread that runs on the stack `sp` is in a signal's handler, as far as can be seen. Slow. Keeps errno. */
bool cap_in_handler(const void *sp);

/*
 * A record of the thread is being written, or a frame of it made: who comes now is a signal's handler. A frame that longjmp()
 * has left is above no stack.
 */
static inline bool cap_is_recording(const struct cap_thread *t, const void *sp)
{
	uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

	return cap_reads(t) || (depth && depth <= CAP_FRAMES && t->frames[depth - 1].end &&
				(const char *)t->frames[depth - 1].sp > (const char *)sp);
}

/*
 * Where cap_is_recording() says so: a handler has left the record, or the frame, by siglongjmp(), and `sp` is of a call of
 * the program that came later: it is brought in order, and the call may be entered. Never where that is in doubt. Slow.
 */
bool cap_recording_left(struct cap_thread *t, const void *sp);

/* While a call of the op's domain is recorded nothing but Kymo runs on the thread, and tools. */
void cap_records_alone(const struct cap_op *op);

/* False: entering this call could do harm. Else cap_enter_at() is to be next. Keeps errno. */
bool cap_may_enter(struct cap_op *op, const void *caller, const void *sp);

#endif
