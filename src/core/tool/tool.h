/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools: structures that they hand over, calling them, what they may ask while they are called.
 *
 * Invariants. A tool's function runs with no lock of core held and with traced calls inside it left alone; it may
 * fork, throw, or never return, and core_calling_goes_on() tells. After its `finalize` nothing of it is called.
 */
#ifndef CORE_TOOL_H
#define CORE_TOOL_H

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <kymo/tool.h>

#include "core/capture.h"

struct core_context;
struct core_submission;
struct wire_record;

/* ---- structures of tools ---- */

/*
 * They begin with their size and grow at their end; a tool may have been built with less of one, down
 * to `first` bytes. All consist of words: what is not a whole one is left out.
 */
static inline bool core_size_fits(const void *structure, size_t first)
{
	return *(const size_t *)structure >= first;
}

static inline size_t core_size_common(const void *structure, size_t size)
{
	const size_t theirs = *(const size_t *)structure / sizeof(size_t) * sizeof(size_t);

	return theirs < size ? theirs : size;
}

/*
 * A tool that was built with more of a structure than this version has must not have asked for
 * anything there: what is not known is not ignored. A size that no version will have is none.
 */
#define CORE_SIZE_MAX 4096u
__attribute__((no_sanitize("address"))) static inline bool core_size_known(const void *structure,
									   size_t size)
{
	const size_t theirs = *(const size_t *)structure;
	const volatile unsigned char *p = structure;

	for (size_t i = size; i < theirs && theirs <= CORE_SIZE_MAX; i++)
		if (p[i])
			return false;
	return theirs <= CORE_SIZE_MAX;
}

/* What the tool's structure lacks is 0. */
static inline void core_take(void *to, size_t size, const void *from)
{
	memset(to, 0, size);
	memcpy(to, from, core_size_common(from, size));
}

/* Fills in what the tool knows of; its size becomes how much that is. */
static inline void core_give(void *out, const void *from, size_t size)
{
	const size_t n = core_size_common(out, size);

	memcpy(out, from, n);
	*(size_t *)out = n;
}

/* Why something was refused, for kymo_error_text(); returns `status`. */
kymo_status_t core_refuse(kymo_status_t status, const char *why);
/* ERROR_INCOMPATIBLE: the size is not set, or something is asked for that is not known. */
kymo_status_t core_refuse_size(void);

/* Words that tools keep from ENTER to EXIT. */
struct core_words {
	uint64_t *words;
	uint32_t room;
};

/* What a callback record's `internal` points to. */
struct core_callback_info {
	uint32_t stack; /* of calls: id, 0: none was taken */
	const struct cap_domain *domain;
	uint32_t op;
	const void *args; /* of calls */
	bool exit, ok;
	const struct wire_record *wire; /* of activities */
};

/*
 * Calls the tools of the frame's subscribers. `words`: subscribers->count words kept from ENTER to EXIT; NULL: those
 * of the thread's frame. `wire`: of activities, else NULL. False: this is a child, forked by a tool.
 */
#define CAP_COMPLETE ((enum cap_phase)3)
/* What the callback that runs on this thread is told, or NULL. */
const struct core_callback_info *core_callback_current(void);
bool core_callbacks(struct cap_frame *f, void *args, enum cap_phase phase, uint64_t *words,
		    const struct wire_record *wire, const struct core_submission *submission);
void core_words_release(struct cap_thread *t);

/* ---- tools (tool.c) ---- */
void core_tools_discover(void);
void core_tools_fork_child(void);
/* Tools that want to hear of the end get nothing new from here on, and then do. */
void core_tools_stop(void);
void core_tools_finalize(void);
/* The tool whose function runs on this thread, or NULL. */
const void *core_tool_current(void);
/* The calling thread is in its `initialize`. */
bool core_tool_initializing(void);
/* A function of this one runs from now on; what core_tool_current() said before is put back after. */
const void *core_tool_enter(const void *tool);
/*
 * Around a call of a tool's function for `context` by the calling thread, which must be busy or keep
 * the list of subscribers. False: the context is gone, do not call. A context that is destroyed meanwhile waits for
 * the end. Traced calls inside run untraced.
 */
struct core_calling {
	struct cap_thread *thread;
	const void *tool, *sp;
	uint32_t level, generation;
};
/* A function of a tool runs on this thread for some context. */
bool core_inside_callback(void);
bool core_calling_begin(struct core_calling *k, struct cap_thread *t);
bool core_calling_one(struct core_calling *k, const struct core_context *c, uint32_t generation);
/* False: this is a child, forked by the tool; the thread's state is gone. */
bool core_calling_goes_on(const struct core_calling *k);
void core_calling_end(struct core_calling *k);

/* ---- exceptions of tools (contain.c) ---- */
/*
 * Calls `fn`, a function of a tool with up to three arguments. What it throws is caught, noted once
 * and counted; the value is then 0. pthread_exit() and cancellation pass through.
 */
uint64_t core_contained(const void *fn, uint64_t a, uint64_t b, uint64_t c)
	__attribute__((visibility("hidden")));
/* Functions of tools that were left by an exception on this thread. */
uint32_t core_caught(void);
#define CORE_FUNCTION(f) ((const void *)(uintptr_t)(f))
#define CORE_ARGUMENT(p) ((uint64_t)(uintptr_t)(p))

/* ---- values (value.c) ---- */
/* The call that an activity belongs to: its field "correlation"; 0: none. */
uint64_t core_activity_correlation(const kymo_op_desc_t *op, const struct wire_record *record);

#endif
