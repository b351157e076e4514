/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting instead of recording, for mode summary and for tables of jobs.
 *
 * Invariants. A tally is added to by its own thread alone. Tallies lie in chunks of the shared buffer, so that a
 * process that is killed loses none; they are walked by others under core_live->tallies.
 */
#ifndef CORE_TALLY_H
#define CORE_TALLY_H

#include <stdatomic.h>

#include <kymo/tool.h>

#include "base/locks.h"
#include "core/capture.h"
#include "core/process/process.h"
#include "core/tally/count.h"
#include "wire/tally.h"

struct core_buffer;

/* ---- tallies (tally.c) ---- */
void core_tally_call(struct cap_thread *t, struct core_buffer *b, struct cap_frame *f);
/* A new entry of the thread, as `from`; `work` where its flags say so. NULL: no room. */
struct wire_tally *core_tally_add(struct cap_thread *t, struct core_buffer *b,
				  const struct wire_tally *from, const struct wire_work *work);
/* The same, of nothing yet; with `work` of an activity. */
struct wire_tally *core_tally_fresh(struct cap_thread *t, struct core_buffer *b, uint32_t op,
				    const struct wire_work *work);
/* Calls `fn` for the thread's entries, which it may be adding to. Caller holds `tallies`. */
typedef void core_tally_fn(const struct wire_tally *y, const struct wire_work *w, void *data);
void core_tally_each(const struct cap_thread *t, core_tally_fn *fn, void *data)
	REQUIRES(core_live->tallies);
/* Hands its chunks over; the thread ends. */
void core_tally_close(struct cap_thread *t, struct core_buffer *b);
void core_tally_release(struct cap_thread *t);

/* ---- activities that are counted (work.c) ---- */
/* They are, or are about to be: CAP_PLAN_TALLY of their ops says so, too. */
extern _Atomic bool core_tally_works;
void core_work_release(struct cap_thread *t);
struct comm_item;
/* A transfer of kind `op` that ended is counted, or lost for want of memory and counted as that: true. */
bool core_work_comm(struct cap_thread *t, struct core_buffer *b, const struct cap_op *op,
		    const struct comm_item *i, uint64_t end);
void core_work_fork_child(void);

/* ---- the tallies of a process for those of its job (job.c) ---- */
/* The thread ends: what it counted is kept for the job's. Before core_tally_close(). */
void core_tally_fold(struct cap_thread *t) REQUIRES(core_live->tallies);
void core_tally_fork_child(void);
/* Something is in the trace now that no tally of a job has. */
void core_tally_not_all(void);

#endif
