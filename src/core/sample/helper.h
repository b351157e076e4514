/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a sampler: goes round now and then, or when it is asked, and hands over what there is. */
#ifndef CORE_SAMPLE_HELPER_H
#define CORE_SAMPLE_HELPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct helper {
	_Atomic uint32_t state; /* HELPER_* */
	_Atomic uint32_t wake;  /* changes when it has something to do */
	_Atomic uint32_t asked, done;
	uint32_t seen; /* `asked` when the round began */
	uint64_t ran;  /* ns of the process until then; see helper_wait_run() */
	void (*run)(void);
	char reason[256];
};

/*
 * Starts the thread, "kymo-" and `name`, and waits until it says whether it is ready. Tools are told
 * of it: caller holds no lock.
 */
bool helper_start(struct helper *h, const char *name, pthread_t *thread, void (*run)(void));
void helper_stop(struct helper *h, pthread_t thread);
/* Lets the thread do a round now; waits for it, a second at most. */
void helper_ask(struct helper *h);
/* The process ends: who asks from now on waits 200 ms at most. */
void helper_hurry(void);

/* Of the thread: */
void helper_ready(struct helper *h, bool ok);
/* Sleeps, at most so long. False: it is to end. */
bool helper_wait(struct helper *h, uint64_t ns);
/*
 * The same, but for samples by processor time, which come as the process runs: goes on sleeping until it has run for half as long, a second at
 * most. On a machine that has no processor for it the thread would take more time than the program.
 */
bool helper_wait_run(struct helper *h, uint64_t ns);
void helper_done(struct helper *h);
/* Somebody waits for the end of this round. */
bool helper_is_asked(const struct helper *h);

#endif
