/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting a piece of work where work is counted (cap_tally_work()), by those who have many: without its
 * record, which would be encoded only to be read again. Whoever has few leaves it to cap_activity_begin().
 */
#ifndef CORE_TALLY_COUNT_H
#define CORE_TALLY_COUNT_H

#include "core/capture.h"
#include "core/tally/job.h"
#include "record/fields.h"
#include "wire/tally.h"

/* What a tally keeps of it, as the fields of its record would say it; what its kind does not have is 0. */
struct cap_counted {
	uint8_t kind; /* enum wire_tally_kind: dispatch, copy, sync, comm */
	bool error;
	bool untimed;                 /* by the device */
	uint32_t key[WIRE_WORK_KEYS]; /* enum wire_tally_key */
	uint64_t bytes, received;
	uint64_t duration, wait; /* ns of the device, or ticks; `wait`: since it was queued */
};

/* The job has its table: nothing is counted any more. */
extern _Atomic bool cap_tally_over;

/* Adds a duration to total, extremes and histogram. */
static inline void cap_tally_time(struct wire_tally *y, uint64_t duration)
{
	y->total += duration;
	if (cap_unlikely(duration < y->min))
		y->min = duration;
	if (cap_unlikely(duration > y->max))
		y->max = duration;
	y->histogram[wire_tally_bucket(duration)]++;
}

/* There is nothing to be done about the work of a submission but to count it. Nothing is, as a rule. */
static inline bool cap_counts(const struct cap_submission *o)
{
	uint64_t bit = atomic_load_explicit(&cap_counted, memory_order_relaxed);

	return cap_unlikely(bit != 0) && o->buffers == bit && !o->more;
}

/* False: more is to be done than to count it, by cap_activity_begin(); nothing was done. */
bool cap_count(const struct cap_submission *o, const struct cap_op *op,
	       const struct cap_counted *c);
/*
 * A mark or a range of the calling thread `t`, which has ended now. `key`: enum wire_tally_key, two of them a word;
 * `scope`: its own, 0: a mark; `around`: that of the range around it.
 */
bool cap_count_range(struct cap_thread *t, const struct cap_op *op, uint64_t duration,
		     uint64_t scope, uint64_t around, uint64_t key01, uint64_t key23);
bool cap_count_allocation(const struct cap_submission *o, bool allocate,
			  const struct cap_allocation *a);

/* Of a kernel: `untimed` has no times. */
static inline struct cap_counted cap_counted_kernel(uint32_t agent, uint32_t queue, uint32_t kernel,
						    uint64_t duration, uint64_t wait, bool untimed)
{
	return (struct cap_counted){.kind = WIRE_TALLY_DISPATCH,
				    .untimed = untimed,
				    .key = {[WIRE_KEY_DISPATCH_AGENT] = agent,
					    [WIRE_KEY_DISPATCH_QUEUE] = queue,
					    [WIRE_KEY_DISPATCH_KERNEL] = kernel},
				    .duration = duration,
				    .wait = wait};
}

/* Kinds of memory of a copy as its key has them. */
static inline uint32_t cap_counted_kinds(uint32_t source, uint32_t destination)
{
	return source << 8 | destination;
}

#endif
