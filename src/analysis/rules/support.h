/* SPDX-License-Identifier: Apache-2.0 */
/* What rules about devices share: adding up by place, naming places, what is known of a device. */
#ifndef ANALYSIS_RULES_SUPPORT_H
#define ANALYSIS_RULES_SUPPORT_H

#include "analysis/diagnose.h"
#include "base/map.h"
#include "base/units.h"

/* Things that happen at one place, added up. */
struct place {
	uint32_t device, site, op, kernel; /* op: of the call; TIMELINE_NONE: none */
	uint64_t ns, bytes, count, other;
	int64_t start, end; /* of the one that took longest */
};

struct places {
	struct place *at;
	uint32_t count, room;
	struct map index;
	bool failed;
};

/* The one of this place, new or not; NULL: no memory. */
struct place *places_at(struct places *g, uint32_t device, uint32_t site, uint32_t op,
			uint32_t kernel);
/* One more that takes `ns`, best seen in [start, end). */
void place_add(struct place *g, uint64_t ns, int64_t start, int64_t end);
/* Most time first; NULL: there is none. */
const struct place *places_sort(struct places *g);
void places_release(struct places *g);

/* Numbers of work or gaps that a rule will claim if its finding is told. */
struct claims {
	uint32_t *at;
	uint32_t count, room;
};
void claims_add(struct diagnosis *d, struct claims *c, uint32_t work);
/* Claims them, if `told`; and forgets them. */
void claims_end(struct diagnosis *d, struct claims *c, unsigned what, bool told);

/* Likewise, the gaps that lie in these times. */
void claim_gaps(struct diagnosis *d, struct intervals *times, bool told);
/* No finding tells it yet, or but a part. */
bool gap_is_open(const struct diagnosis *d, const struct gap *g);

typedef bool gap_fn(const struct diagnosis *d, const struct gap *g);

/* The host goes on at even times after those gaps of a device of which `is` says so. */
bool gaps_keep_to_a_clock(struct diagnosis *d, uint32_t device, gap_fn *is);

/* ---- names ------------------------------------------------------------------------------------- */

const char *device_label(const struct diagnosis *d, uint32_t device);
const char *op_name(const struct diagnosis *d, uint32_t op);

/* A function of this name asks whether a device is done, and does not wait for it. */
bool op_asks(const char *name);

/* Where it happens, from the place with the most time, and when best; a command that shows that time. */
void finding_set_place(struct diagnosis *d, struct finding *f, const struct place *most);
/* Lines of evidence of the first few places. */
void finding_add_places(struct diagnosis *d, struct finding *f, const struct places *g,
			const char *what);
/* The annotations that cover most of a device's waiting for host code, if they cover half of it (range_cover.h). */
void finding_add_range(struct diagnosis *d, struct finding *f, uint32_t device,
		       const struct intervals *times);
/* A command for the window of the finding: `kymo show ARGUMENTS --after ... TRACE`. */
void finding_set_show(struct diagnosis *d, struct finding *f, const char *arguments);

/* ---- devices ------------------------------------------------------------------------------------ */

/* A number of the device's properties, 0: not known. */
uint64_t device_property(const struct diagnosis *d, uint32_t device, const char *name);
/* Compute units, 0: not known. */
uint64_t device_units(const struct diagnosis *d, uint32_t device);
/* On a part of its device (OpenCL's sub-devices), whose units are fewer. */
bool work_on_part(const struct diagnosis *d, const struct tl_work *w);
/* It computes with the processors of the host. */
bool device_is_host(const struct diagnosis *d, uint32_t device);
/* Share of the time of a copy that is won at most if kernels run meanwhile. */
double copy_overlap(const struct diagnosis *d, const struct tl_work *w);

/* Whether what the host did from a copy's end on can have read or written so many bytes. */
static inline bool host_could_use(uint64_t bytes, uint64_t outside_ns)
{
	/*
	 * What another has written, no core reads faster than some 20 bytes in a nanosecond; what is small is
	 * looked at.
	 */
	return bytes < 4096 || outside_ns > (bytes / 20 > 5000 ? bytes / 20 : 5000);
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t gap_length(const struct gap *g)
{
	return (uint64_t)(g->end - g->start);
}

/* The gap in front of a piece of work, NULL: there is none. `*next` is where to go on, first 0; work in order. */
const struct gap *gap_before(const struct gaps *gaps, uint32_t work, uint32_t *next);

/* ns from the launch of what comes next, or the end of what was before it, until it starts; it was submitted. */
uint64_t gap_launching(const struct diagnosis *d, const struct gap *g);

/* Of `ns` by the clock that a thread spent at something, what it can have had of a processor. */
uint64_t thread_processor(const struct diagnosis *d, uint32_t thread, uint64_t ns);

/* The place of work: that of its outermost call. */
struct place *places_of_work(struct places *g, const struct diagnosis *d, const struct tl_work *w);

/* Time of a call in which no device of the run worked: what it holds the run back by, if its thread drives it. */
uint64_t call_exposed(const struct diagnosis *d, int64_t start, int64_t end);

/* The same of a set of times, which is put in order: what lies side by side counts once. */
uint64_t times_exposed(const struct diagnosis *d, struct intervals *times);

#endif
