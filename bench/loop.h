/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a piece of work in one or several threads for a time or a number of rounds, and says what a
 * round took. Every benchmark of calls uses it, so that what is compared is measured alike.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <stdint.h>

struct loop {
	void (*work)(uint64_t rounds, void *data); /* called again and again by each thread */
	void *data;
	unsigned threads;
	uint64_t batch;  /* rounds of one call of `work` */
	double seconds;  /* stop after so long, */
	uint64_t rounds; /* or after so many rounds of each thread, if not 0 */
};

struct loop_result {
	uint64_t rounds; /* of all threads */
	double seconds;
	double ns;     /* that a thread took for a round */
	double cpu_ns; /* of that, on a processor: what other programs do is not in it */
};

void loop_run(const struct loop *l, struct loop_result *out);

#endif
