/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which allocation a call that frees has freed, where that is only looked up when the call has
 * returned. The runtime may have given the address to another thread by then, whose allocation is
 * known already; it may even be free again. So an address keeps its last few allocations, and a
 * call ends the one that was there when it began. All functions are thread-safe.
 */
#ifndef CORE_ACTIVITY_LIFETIME_H
#define CORE_ACTIVITY_LIFETIME_H

#include <pthread.h>

#include "base/map.h"
#include "core/activity/memory.h"

struct cap_lifetimes {
	pthread_mutex_t lock;
	struct map newest; /* under the lock; by key: struct lifetime *, linked to older ones */
};
#define CAP_LIFETIMES                                                                              \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/* `m` is there from m->born on: the end of the call that allocated it. `key`: its address, and
 * what else tells it from others. */
void cap_lifetime_begin(struct cap_lifetimes *s, uint64_t key, const struct cap_memory *m);

/*
 * Takes what was there when a call that frees it began, at tick `before`: the newest that is not
 * younger. False: nobody saw it begin.
 */
bool cap_lifetime_end(struct cap_lifetimes *s, uint64_t key, uint64_t before,
		      struct cap_memory *out);

/* In a child where nobody locked it before the fork: what is in it may be half changed. */
void cap_lifetimes_drop(struct cap_lifetimes *s);

#endif
