/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of scopes, "solve/assemble": the names of the ranges that a record lies in, the outermost first.
 * Ranges come before what lies in them, and device work after the call that submitted it, so both
 * are found among the ones that came last; how many of those are kept is bounded.
 */
#ifndef FORMATS_PERFETTO_AROUND_H
#define FORMATS_PERFETTO_AROUND_H

#include "base/map.h"
#include "formats/perfetto/intern.h"
#include "stream/stream.h"

/* A number for each of the last so many keys; what has not ended yet is kept in any case. */
struct recent {
	struct map values;
	struct recent_key {
		uint64_t key;
		int64_t end;
	} * ring;
	uint32_t count, room, next;
};

struct around {
	struct intern paths;
	struct recent ranges; /* by process and scope: number of the path */
	struct recent calls;  /* by process and id, of calls that submit: likewise */
};

/* A range that begins. */
void around_range(struct around *s, const struct rec_marker *r);

/* A call that submits work. */
void around_call(struct around *s, const struct rec *r);

/* Number of the path that a record lies in; 0: in none, or it is not known any more. */
uint32_t around_path(const struct around *s, uint32_t process, int64_t scope);

/* Of device work: its own, else that of the call that submitted it. */
uint32_t around_work(const struct around *s, const struct rec *r, uint64_t call);

static inline const char *around_text(const struct around *s, uint32_t path)
{
	return intern_text(&s->paths, path);
}

void around_release(struct around *s);

#endif
