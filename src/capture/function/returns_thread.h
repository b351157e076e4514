/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread has of stubs; between returns.c and returns_slow.c. */
#ifndef CAPTURE_FUNCTION_RETURNS_THREAD_H
#define CAPTURE_FUNCTION_RETURNS_THREAD_H

#include "capture/function/returns.h"

/* Numbers of stubs, 0: none. */
struct function_thread {
	uint32_t open;  /* the last call that was entered and has not returned */
	uint32_t free;  /* the first of those that are free */
	uint32_t doubt; /* of those that seem to have been left, but lie on the stack */
	uint32_t busy;  /* nothing is traced: the slow path is at work, or the thread ends */
};

extern _Thread_local struct function_thread function_thread
	__attribute__((tls_model("initial-exec")));

static inline bool function_is_return(const void *address)
{
	return (uintptr_t)address - (uintptr_t)function_returns <
	       (uintptr_t)function_returns_end - (uintptr_t)function_returns;
}

static inline uint32_t function_return_of(const void *address)
{
	return (uint32_t)(((uintptr_t)address - (uintptr_t)function_returns) / 8);
}

static inline const void *function_return_stub(uint32_t at)
{
	return function_returns + (size_t)at * 8;
}

static inline struct function_call *function_around(const struct function_return *r)
{
	return r->call.next ? &function_return_table[r->call.next].call : NULL;
}

/*
 * The first free one, `at`, is somebody's. What a signal's handler does in between is undone when it goes on: it takes and
 * gives back the same.
 */
static inline void function_take(struct function_thread *s, uint32_t at)
{
	s->free = function_return_table[at].call.next;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void function_give(struct function_thread *s, uint32_t at)
{
	function_return_table[at].slot = NULL;
	function_return_table[at].call.next = s->free;
	atomic_signal_fence(memory_order_seq_cst);
	s->free = at;
}

/* The call of `at`, which was taken, has begun. */
static inline void function_open(struct function_thread *s, uint32_t at, const void **slot)
{
	struct function_return *r = &function_return_table[at];

	r->original = *slot;
	r->slot = slot;
	r->call.next = s->open;
	atomic_signal_fence(memory_order_seq_cst);
	s->open = at;
	*slot = function_return_stub(at);
}

/* The last call has ended. */
static inline void function_close(struct function_thread *s, uint32_t at)
{
	s->open = function_return_table[at].call.next;
	atomic_signal_fence(memory_order_seq_cst);
	function_give(s, at);
}

#endif
