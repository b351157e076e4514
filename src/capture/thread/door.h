/* SPDX-License-Identifier: Apache-2.0 */
/* Between the preloaded libkymo-threads.so and libkymo, which knows how to record. */
#ifndef CAPTURE_THREAD_DOOR_H
#define CAPTURE_THREAD_DOOR_H

#include <stdbool.h>
#include <stdint.h>

enum thread_op { THREAD_OP_CREATE, THREAD_OP_JOIN, THREAD_OPS };

struct cap_frame;

struct thread_door {
	/* Makes this process and the calling thread known, though they may never use a runtime. */
	void (*attach)(void);
	/* The thread that the calling one is about to make is not the program's. */
	bool (*own)(void);
	/* Around the call; `frame` NULL is passed over. `thread` is the pthread_t, 0 if there is none. */
	struct cap_frame *(*enter)(enum thread_op op, const void *caller);
	void (*leave)(struct cap_frame *frame, enum thread_op op, uint64_t thread,
		      const void *function, int status);
	/* The name of a thread by its number in the operating system, 0: the calling one. */
	void (*name)(uint32_t tid, const char *name);
};

const struct thread_door *kymo_thread_door(void);

#endif
