/* SPDX-License-Identifier: Apache-2.0 */
/* What the samplers of host threads share: the thread that hands samples over. */
#ifndef CAPTURE_HOSTSAMPLE_HOSTSAMPLE_H
#define CAPTURE_HOSTSAMPLE_HOSTSAMPLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/sample/sample.h"

struct helper {
	_Atomic uint32_t state; /* HELPER_* */
	_Atomic uint32_t wake;  /* changes when it has something to do */
	_Atomic uint32_t asked, done;
	uint32_t seen; /* `asked` when the round began */
	void *(*run)(void *);
	char reason[256];
};

/* Starts the thread, without signals, and waits until it says whether it is ready. */
bool helper_start(struct helper *h, pthread_t *thread, void *(*run)(void *));
void helper_stop(struct helper *h, pthread_t thread);
/* Lets the thread do a round now; waits for it, a second at most. */
void helper_ask(struct helper *h);

/* Of the thread: */
void helper_ready(struct helper *h, bool ok);
/* Sleeps, at most so long. False: it is to end. */
bool helper_wait(struct helper *h, uint64_t ns);
void helper_done(struct helper *h);

extern const struct cap_sampler perf_sampler, timer_sampler;

#endif
