/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record as readers hand it on: what all have in common. The fields of each kind are in the record model
 * (model, generated as record/types.h).
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct wire_record;

/* Common to all. Indexes are global. */
struct rec {
	uint32_t process, thread, op;
	uint32_t site, stack;
	int32_t status;
	bool ok; /* status is the op's success */
	bool unwound;
	uint64_t id; /* unique in the process; 0 for activities */
	uint64_t parent;
	uint64_t external;
	int64_t scope;
	int64_t start, end;             /* node ns */
	const struct wire_record *wire; /* fields: walk with rec_fields_*; NULL: no fields */
};

struct rec_device {                            /* device times of dispatches and copies, node ns */
	int64_t queued, submitted, start, end; /* all 0 when untimed */
	uint32_t untimed;                      /* enum untimed_reason */
	int32_t status;
	uint64_t correlation;  /* id of the submitting call, in the same process */
	int64_t submit;        /* start of the submitting call on the host */
	bool causal_violation; /* starts before it was submitted by more than the clock error */
};

/*
 * The submitting call as far as it is believed: no call submits what has begun before it, whatever the
 * record says, and UINT64_MAX is the id of none. 0: the record names none.
 */
static inline uint64_t device_call(const struct rec_device *d)
{
	return d->causal_violation ? UINT64_MAX : d->correlation;
}

/* It has device times. */
static inline bool device_timed(const struct rec_device *d)
{
	return !d->untimed && (d->start || d->end);
}

/* Records dropped by one thread between two of its chunks or after its last; thread 0: by one not known. */
struct rec_loss {
	uint32_t process, thread;
	uint64_t count;        /* 0: not known, whole chunks are missing */
	int64_t after, before; /* time range in which it happened */
};

#endif
