/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of samples of the host share. All of it belongs to the one thread that hands over samples. */
#ifndef CORE_SAMPLE_HOST_H
#define CORE_SAMPLE_HOST_H

#include <kymo/sample.h>

#include "core/capture.h"
#include "record/fields.h"

/* thread.c */
/* Learns which threads core knows by now. */
void sample_threads_look(void);
/* kymo_sample_desc_t.threads: of these alone samples are wanted. */
void sample_threads_choose(const char *list);
/* Number of the thread in records; 0: it is not to be sampled. */
uint32_t sample_thread_index(uint32_t tid);
void sample_thread_named(uint32_t tid, const char *name);
void sample_thread_end(uint32_t tid);
void sample_threads_fork_child(void);

/* off_cpu.c */
/* The domain is registered: who asks for times without a processor gets them. */
kymo_status_t sample_off_cpu_ready(void);
/* Contexts that sample now get its records, as far as they want them. */
void sample_off_cpu_look(uint64_t contexts);

/* stack.c */
/* Id of the stack, defined when it is new; 0: no memory. */
uint32_t sample_stack(const uint64_t *addresses, uint32_t count, enum stack_end end);

#endif
