/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of samples of the host share, and samples of what threads allocate (capture/heap). */
#ifndef CORE_SAMPLE_HOST_H
#define CORE_SAMPLE_HOST_H

#include <kymo/sample.h>

#include "core/capture.h"
#include "core/sample/sample.h"
#include "record/fields.h"

/* thread.c: for any thread of Kymo's */
/* Learns which threads core knows by now. */
void sample_threads_look(void);
/* kymo_sample_desc_t.threads: of these alone samples are wanted. */
void sample_threads_choose(const char *list);
/* Number of the thread in records; 0: it is not to be sampled. */
uint32_t sample_thread_index(uint32_t tid);
void sample_thread_named(uint32_t tid, const char *name);
void sample_thread_end(uint32_t tid);
void sample_thread_short(uint32_t tid);
/* How many of these had no samples, of which nothing was told yet; `last`: those of this batch too. */
uint64_t sample_threads_short(bool last);

/* off_cpu.c */
/* The domain is registered: who asks for times without a processor gets them. */
kymo_status_t sample_off_cpu_ready(void);
/* Contexts that sample now get its records, as far as they want them. */
void sample_off_cpu_look(uint64_t contexts);

#endif
