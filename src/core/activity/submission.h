/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What device work and other activities keep of the call that submitted them, and when its id is retired.
 *
 * Invariants. A submission keeps its list of subscribers until its last holder ends it. An id is retired
 * once: after its call has returned and all submissions taken in it have ended.
 */
#ifndef CORE_ACTIVITY_SUBMISSION_H
#define CORE_ACTIVITY_SUBMISSION_H

#include <stdatomic.h>
#include <stdbool.h>

#include <kymo/tool.h>

#include "core/capture.h"

struct core_subscribers;
struct core_retire;

/* ---- submissions and retirement (submission.c) ---- */
struct core_submission {
	_Atomic uint32_t holders;                   /* see cap_submission_share() */
	const struct core_subscribers *subscribers; /* kept; or NULL */
	struct core_retire *retire;                 /* kept; or NULL */
	uint64_t *buffer_external; /* [CAP_BUFFERS] behind the entries if any is not 0, else NULL */
	struct core_submission_entry {
		uint64_t external;
		bool skip; /* the filter said no */
	} entries[];       /* of the list of subscribers */
};
/* The id of the call `f` will not be carried by anything new. */
#define CORE_RETIRE_WANTED ((struct core_retire *)2)
/* Nobody waits for it, but what the call costs is being measured; see ring/overhead.c. */
#define CORE_RETIRE_SAMPLED ((struct core_retire *)1)
/* A submission for telling those of `subscribers` (NULL: nobody) alone. */
struct core_submission *core_submission_of(const struct core_subscribers *subscribers);

#endif
