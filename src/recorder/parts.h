/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the recorder share. */
#ifndef RECORDER_PARTS_H
#define RECORDER_PARTS_H

#include <regex.h>

#include "recorder/recorder.h"

/*
 * Variables of threads lie where they cost nothing, in memory that a program has little left of for libraries which
 * it loads while it runs. A recorder that is brought to such a program, perhaps the tenth, does without.
 */
#ifdef RECORDER_BROUGHT
#define RECORDER_TLS
#else
#define RECORDER_TLS __attribute__((tls_model("initial-exec")))
#endif

/* ---- regular expressions (patterns.c) ---- */

struct patterns {
	const struct recorder_patterns *given; /* NULL: none */
	regex_t *regex;                        /* of each */
};

kymo_status_t patterns_compile(struct patterns *p, const struct recorder_patterns *given);
/* One that is what the user wrote is matched, whatever that is as a pattern. */
bool patterns_one(const struct patterns *p, uint32_t i, const char *name);
bool patterns_match(const struct patterns *p, const char *name);
void patterns_fork_child(void);

/* ---- executions of ranges (ranges.c) ---- */

/* Follows those that `options` name, with callbacks of `control`, which is not started. */
kymo_status_t ranges_follow(kymo_context_t control, kymo_context_t context,
			    const struct recorder_options *options);
void ranges_fork_child(void);

/* ---- device work (work.c) ---- */

/* It is recorded by a service of its own, as not all is wanted. */
bool work_is_chosen(const struct recorder_options *options, const kymo_domain_desc_t *domain);
kymo_status_t work_choose(kymo_context_t context, kymo_buffer_t buffer,
			  const struct recorder_options *options);
/* Executions of kernels that are chosen by number are counted with `control`, whatever is paused meanwhile. */
kymo_status_t work_count(kymo_context_t control);
void work_fork_child(void);

/* ---- both ---- */

/* `numbers`: pairs of first and last. */
static inline bool recorder_numbers_have(const uint64_t *numbers, uint32_t pairs, uint64_t n)
{
	for (uint32_t i = 0; i < pairs; i++)
		if (n >= numbers[2 * i] && n <= numbers[2 * i + 1])
			return true;
	return false;
}

#endif
