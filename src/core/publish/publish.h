/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing inside core: clocks and tracks of publishers (clock.c), their domains
 * (publish.c), their devices (work.c), and the fields that core adds to published ops.
 */
#ifndef CORE_PUBLISH_H
#define CORE_PUBLISH_H

#include <kymo/publish.h>

#include "core/capture.h"
#include "record/fields.h"

/* Encodes them from field `at` on. */
void core_timed_put(struct wire_enc *e, unsigned at, const kymo_publication_t *r, uint32_t track);
/* An op of a domain that was published. */
const struct cap_op *core_published_op(kymo_published_domain_t domain, uint32_t op);
/* kymo_publish() of a record that core itself has made, into these buffers, on the thread of this index. */
void core_publish_on(kymo_published_domain_t domain, uint32_t op, uint64_t buffers,
		     const kymo_publication_t *record, uint32_t thread);
/* Around a commit: what tools may not publish from, and the id they are told. False: within one. */
bool core_publishing_begin(uint64_t id);
void core_publishing_end(void);

/* Ops of other domains that publishers write. NULL: the domain cannot be registered. */
struct cap_op *counter_published_op(void);
struct cap_op *sample_published_op(void);

/* Threads that are tracks are numbered from here on. */
#define CORE_TRACKS     (1u << 25)
#define CORE_TRACKS_MAX 65536u

struct core_timed { /* a published record, on the host's time line as well as is known by now */
	uint64_t id, parent, start, end;
	uint32_t track;
	int32_t status;
};

/* False: the record has no fields. */
bool core_timed_read(const kymo_op_desc_t *op, const struct wire_record *record,
		     struct core_timed *out);

/* Whether a clock is known (0 is). */
bool publish_clock_known(kymo_clock_t clock);
/* Id of its definition; 0 of the host's. */
uint32_t publish_clock_id(kymo_clock_t clock);
/* Its units in nanoseconds. */
uint64_t publish_clock_ns(kymo_clock_t clock, uint64_t units);
/* Nanoseconds of the clock of this definition as host time, by the readings there are so far. */
uint64_t publish_clock_host(uint32_t id, uint64_t ns);
/* Index of the track's thread, 0: the calling one. False: no such track. */
bool publish_track(kymo_track_t track, uint32_t *thread);
/* The tick at a host time of this process's life. */
uint64_t publish_tick(uint64_t host_ns);

#endif
