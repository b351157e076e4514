/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples between core and those who take them: core holds the services and writes the records,
 * samplers (src/capture/hostsample) know how to get at program counters.
 */
#ifndef CORE_SAMPLE_H
#define CORE_SAMPLE_H

#include <kymo/sample.h>

#include "core/capture.h"
#include "record/fields.h"

struct cap_sample {
	uint32_t tid, cpu;
	uint64_t time, weight; /* ns */
	uint64_t correlation;
	int64_t scope;
	bool kernel;
	enum stack_end end;
	uint32_t count;
	const uint64_t *addresses; /* [0] the program counter, then return addresses */
	uint64_t pc;               /* where [0] is one of cap_sample_place(), less 1; else 0 */
};

/* Why a thread had no processor; these are op numbers of domain "off_cpu". */
enum cap_off_cpu {
	CAP_OFF_CPU_PREEMPTED,
	CAP_OFF_CPU_WAIT, /* it was over before anybody could look what for */
	CAP_OFF_CPU_LOCK,
	CAP_OFF_CPU_SLEEP,
	CAP_OFF_CPU_POLL,
	CAP_OFF_CPU_IO,
	CAP_OFF_CPU_NETWORK,
	CAP_OFF_CPU_CHILD,
	CAP_OFF_CPU_FAULT,
	CAP_OFF_CPU_OTHER,
	CAP_OFF_CPU_OPS
};

struct cap_off_cpu_time {
	uint32_t tid, cpu_before, cpu_after;
	uint64_t start, end; /* ns */
	enum cap_off_cpu kind;
	const char *call, *path; /* see waiting.h; NULL: not looked at */
	uint64_t object, pc;
	uint32_t stack; /* sample_stack(); 0: not known */
};

/* Who takes samples. Functions are called by one thread at a time, with no lock held. */
struct cap_sampler {
	const char *name;
	kymo_sample_method_t method;
	/* Works here, with this description; else why not. */
	kymo_status_t (*check)(const kymo_sample_desc_t *desc, char *reason, size_t size);
	/* From now on cap_sample_* may be called, by one thread of the sampler's. */
	kymo_status_t (*start)(const kymo_sample_desc_t *desc, char *reason, size_t size);
	/* All samples taken so far are handed over before it returns. */
	void (*stop)(void);
	void (*flush)(void); /* the same without stopping */
	/* A child: what there was is the parent's. */
	void (*fork_child)(void);
	/*
	 * In the program's threads, maybe in a signal's handler: it sends the program this signal. With `leave` it does not any more when
	 * that returns, and false is. NULL: it sends none.
	 */
	bool (*uses_signal)(int number, bool leave);
	/* Where no method is asked for: this one sees what the others do not. NULL: it never does. */
	bool (*is_better)(const kymo_sample_desc_t *desc);
};

void cap_sampler_register(const struct cap_sampler *s);

/* Before a batch of samples: threads are looked up anew. */
void cap_sample_begin(void);
void cap_sample(const struct cap_sample *s);
void cap_sample_lost(uint64_t count);
/* After a batch; `last`: it may be that none follows. */
void cap_sample_end(bool last, uint64_t interval_ns);
/*
 * What stands in a stack for a function of generated code or of an interpreter, as a return address in it; 0: no memory.
 * `file` may be "". By a thread of the sampler's.
 */
uint64_t cap_sample_place(const char *function, const char *file, uint32_t line);
/* Where the description asks for it. */
void cap_off_cpu(const struct cap_off_cpu_time *t);
/* ---- for samples of other kinds too; any thread of Kymo's ---- */

/* Number of a thread in records, whether it is to be sampled or not; 0: no memory. */
uint32_t sample_thread_number(uint32_t tid);
/* Once in a child, before one of its threads is numbered. */
void sample_threads_fork_child(void);
/* stack.c: id of the stack, defined when it is new; 0: no memory. */
uint32_t sample_stack(const uint64_t *addresses, uint32_t count, enum stack_end end);

/*
 * A child is in order: samplers start again. Before, their threads would wait for what is done there, and who does it for them.
 */
void core_sample_revived(void);
/* The process ends by _exit(): what was sampled is handed over, within 200 ms. In signals' handlers too; not in children of vfork(). */
void core_sample_ending(void);

/* ---- of samplers ---- */

/* Samples of the thread are wanted. Its name, by which it may be chosen, may come late. */
bool cap_sample_wants(uint32_t tid);
/* A thread got a name; it may have ended when its samples are taken. */
void cap_sample_thread_named(uint32_t tid, const char *name);
/* A thread ended (of which samples may still come in this batch). */
void cap_sample_thread_ended(uint32_t tid);
/* One that did lived less than an interval: it is counted if it has no samples. */
void cap_sample_thread_short(uint32_t tid);

#endif
