/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ITT as it lies in memory, and the ITT backend. Names and numbers are those of ittnotify.h and of the
 * static part's ittnotify_config.h. A program's tasks, regions, frames, marks and names become those of
 * the marker core, under the name of their ITT domain.
 *
 *   door.c      how the static parts in a program find us and get their functions
 *   objects.c   domains, string handles, threads, pause and resume, clocks
 *   task.c      tasks, regions, frames, markers, events, marks
 *   metadata.c  values of tasks, relations
 *   counter.c   counters
 *   sync.c      waiting for and releasing objects of the program's own; its own allocators
 */
#ifndef CAPTURE_ITT_ITT_H
#define CAPTURE_ITT_ITT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/annotation/map.h"
#include "core/annotation/string.h"

/* ---- objects that programs look into ---- */

/* __itt_domain; callers skip the call while flags is 0. `ours` is reserved to the collector. */
struct itt_domain {
	volatile int flags;
	const char *name;
	void *wide_name;
	int reserved;
	void *_Atomic ours; /* kymo_string_t */
	struct itt_domain *next;
};

/* __itt_string_handle */
struct itt_string {
	const char *text;
	void *wide_text;
	int reserved;
	void *_Atomic ours; /* kymo_string_t */
	struct itt_string *next;
};

/* __itt_id: passed by value. All 0 is none. */
struct itt_id {
	unsigned long long d1, d2, d3;
};

/* __itt_clock_domain */
struct itt_clock {
	struct itt_clock_info {
		unsigned long long frequency, base;
	} info;
	void (*get)(struct itt_clock_info *info, void *data);
	void *data;
	int reserved;
	void *ours;
	struct itt_clock *next;
};

#define ITT_NO_TIME UINT64_MAX /* __itt_timestamp_none: now */

enum itt_type {
	ITT_U64 = 1,
	ITT_S64 = 2,
	ITT_U32 = 3,
	ITT_S32 = 4,
	ITT_U16 = 5,
	ITT_S16 = 6,
	ITT_FLOAT = 7,
	ITT_DOUBLE = 8
};

/* ---- between the files ---- */

/* The names as strings of markers; NULL for NULL. */
kymo_string_t *itt_domain_name(const struct itt_domain *d);
kymo_string_t *itt_string(const struct itt_string *s);

/* Takes over what a static part made before it had loaded us. */
void itt_adopt(struct itt_domain *first_domain, struct itt_string *first_string);

/* A marker of a domain. */
kymo_marker_t itt_marker(const struct itt_domain *d, const struct itt_string *name);

/* What an id is called, for tasks and regions that have no name of their own; NULL: not known. */
void itt_id_name(struct itt_id id, kymo_string_t *name);
kymo_string_t *itt_name_of_id(struct itt_id id);

/* Value `i` of `data` by its type. False: no such type. */
bool itt_value(kymo_payload_t *out, const char *key, int type, const void *data, size_t i);

/* What several maps are told apart by; see map.h. */
enum itt_key {
	ITT_KEY_TASK = 16,
	ITT_KEY_REGION,
	ITT_KEY_FRAME,
	ITT_KEY_EVENT,
	ITT_KEY_OLD_FRAME,
	ITT_KEY_HEAP
};

/*
 * Functions by the names that the static part's list has, without its prefix: each is told. Code and
 * no tables, which would be relocated in every process.
 */
typedef void itt_function(void);
typedef void itt_tell(void *data, const char *name, itt_function *function);
void itt_object_functions(itt_tell *tell, void *data);
void itt_task_functions(itt_tell *tell, void *data);
void itt_metadata_functions(itt_tell *tell, void *data);
void itt_counter_functions(itt_tell *tell, void *data);
void itt_sync_functions(itt_tell *tell, void *data);

#define ITT_FUNCTION(name, function) tell(data, name, (itt_function *)(function))

#endif
