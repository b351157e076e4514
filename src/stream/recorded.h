/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the processes of a trace recorded: what of the run is known, and what of it lies in pauses.
 */
#ifndef STREAM_RECORDED_H
#define STREAM_RECORDED_H

#include "stream/stream.h"

/* Of a process: how long it was there, and recorded, ns; how often it did not. */
struct recorded {
	int64_t lived, ns;
	uint32_t pauses;
};

/* Up to when it is known: its end, or what was seen of it last. */
int64_t recorded_until(const struct trace *t, const struct t_process *p);

/*
 * It came to its end by itself and was recorded until then: what it would still have given back it has. A process that was
 * killed, or whose recording ended before it or has no end, has not.
 */
bool recorded_to_end(const struct t_process *p);

/* Since when a thread was there: the main one since its process began, others since what was seen first of them. */
int64_t recorded_thread_start(const struct trace *t, const struct t_thread *th);

struct recorded recorded_of(const struct trace *t, uint32_t process);

/* Adds up time in which none of the processes recorded that `of` (by index) has; ns. -1: no memory. */
int64_t recorded_gaps(const struct trace *t, const bool *of);

/* For how long the main thread of a process was ready to run and had no processor, at least, with what exec replaced. */
uint64_t recorded_delay_ns(const struct trace *t, const struct t_process *p);
/* Share of the time of a process that its main thread was ready to run and had no processor, at least. */
double recorded_delay(const struct trace *t, const struct t_process *p);

#endif
