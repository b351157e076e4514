/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of a trace that is made of a foreign file, each found again by what the file calls it: the
 * first mention of a process, device, queue ... adds it. make.h has operations and the record model.
 *
 *	struct keyed k = {.t = trace_new()};
 *	uint32_t p = keyed_process(&k, pid, pid), h = keyed_thread(&k, tid, p, tid);
 *	...
 *	keyed_release(&k);                        // the trace stays
 */
#ifndef STREAM_KEYED_H
#define STREAM_KEYED_H

#include "base/map.h"
#include "stream/make.h"

struct keyed {
	struct trace *t;
	struct map strings, processes, threads, agents, contexts, queues, kernels, counters, ops,
		sites, stacks;
	bool failed; /* no memory */
	bool complete; /* keyed_complete(): of what is new only texts come any more, the rest is none */
};

void keyed_release(struct keyed *k);

/* Index among the trace's strings; 0 of "". */
uint32_t keyed_text(struct keyed *k, const char *s, size_t n);
const char *keyed_string(const struct keyed *k, uint32_t string);

/* `key` is the file's name of it, in the whole file. */
uint32_t keyed_process(struct keyed *k, uint64_t key, uint32_t pid);
uint32_t keyed_thread(struct keyed *k, uint64_t key, uint32_t process, uint32_t tid);

/* `key` is the file's name of it, in the process; `what` is what it is where it is new. */
uint32_t keyed_agent(struct keyed *k, uint32_t process, uint64_t key, const struct t_agent *what);
uint32_t keyed_context(struct keyed *k, uint32_t process, uint64_t handle, const char *domain);
uint32_t keyed_queue(struct keyed *k, const struct t_queue *what);
uint32_t keyed_counter(struct keyed *k, uint64_t key, const struct t_counter *what);

/* Of a process, by its name; `symbol` may be 0. */
uint32_t keyed_kernel(struct keyed *k, uint32_t process, uint32_t name, uint32_t symbol,
		      const char *domain);

struct keyed_place {
	uint32_t function, file; /* strings; 0: not known */
	uint32_t line;
	uint64_t address; /* where the function is not known */
};

/* A place in a program, of a process. One whose function is known has a number for its address. */
uint32_t keyed_site(struct keyed *k, uint32_t process, const struct keyed_place *p);
/* Sites of one process, innermost first; 0 of none. */
uint32_t keyed_stack(struct keyed *k, uint32_t process, const uint32_t *sites, uint32_t count);

/* Of the domain of that name, which is added with it. */
uint32_t keyed_op(struct keyed *k, const char *domain, const char *name,
		  const struct make_field *fields, uint32_t count);

/* Numbers of threads in their processes, and times of processes that have none. False: no memory. */
bool keyed_complete(struct keyed *k, int64_t start, int64_t end);

#endif
