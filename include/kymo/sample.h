/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples: where the threads of the program are, taken at intervals, with call stacks.
 *
 * Samples are delivered as records of the activity domain "sample" into the context's buffer, where
 * a buffer service selects that domain. Op "pc" is a sample; its fields say the thread, the time, the
 * processor, the program counter, the stack and the time that the sample stands for. Op "lost" says
 * how many samples were lost since the last such record. Stacks hold return addresses (the innermost
 * one counts as such: program counter plus 1) and become functions when a trace is read.
 *
 * How it is done is a method:
 *   perf   perf_event_open(2): the kernel writes samples into memory that a thread of Kymo's reads.
 *          No signals; new threads are included from their first instruction. Callers are found
 *          through frame pointers. Samples name the call they lie in only when a trace is read.
 *   timer  a POSIX timer for each thread and a real-time signal: where perf is not permitted. The
 *          program may notice: system calls that wait without being restartable may return EINTR,
 *          and a thread that waits for "any" signal gets ours. New threads are found within 20 ms.
 *          Taken only when asked for.
 */
#ifndef KYMO_SAMPLE_H
#define KYMO_SAMPLE_H

#include <kymo/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kymo_sample_clock {
	KYMO_SAMPLE_CPU = 0, /* intervals of time on a processor */
	KYMO_SAMPLE_WALL = 1 /* intervals of time, also while a thread waits; method timer only */
} kymo_sample_clock_t;

typedef enum kymo_sample_method {
	KYMO_SAMPLE_QUIET = 0, /* whichever the program cannot notice: perf */
	KYMO_SAMPLE_PERF = 1,
	KYMO_SAMPLE_TIMER = 2
} kymo_sample_method_t;

#define KYMO_SAMPLE_DEPTH 64u /* of a stack, at most */

typedef struct kymo_sample_desc {
	size_t size;          /* sizeof(kymo_sample_desc_t) */
	uint64_t interval_ns; /* 100 us to 10 s; 0: 10 ms */
	kymo_sample_clock_t clock;
	kymo_sample_method_t method;
	uint32_t depth;       /* stack entries at most; 0: KYMO_SAMPLE_DEPTH, 1: program counter alone */
} kymo_sample_desc_t;

/*
 * Samples all threads of the process while the context is started. Contexts with the same
 * description share the work. ERROR_BUSY: another context samples with another description.
 * ERROR_UNSUPPORTED: the method does not work here; kymo_sample_error() says why.
 */
KYMO_EXPORT kymo_status_t kymo_sample_service(kymo_context_t context,
					      const kymo_sample_desc_t *desc);

/* Whether the calling thread is sampled (it is, unless it says otherwise), in all contexts. */
KYMO_EXPORT kymo_status_t kymo_sample_thread(bool sampled);

/* KYMO_OK: the method works here. Else kymo_sample_error() says why not. Starts nothing. */
KYMO_EXPORT kymo_status_t kymo_sample_check(kymo_sample_method_t method);

/* What the last refusal in this thread was about, in words; never NULL. */
KYMO_EXPORT const char *kymo_sample_error(void);

#ifdef __cplusplus
}
#endif
#endif
