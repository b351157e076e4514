/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The marker core: marks, ranges and names, whichever annotation interface they come from, and the
 * one tree of scopes. A range is recorded once, when it ends; the record's own scope is the parent
 * of the scope it describes. Front ends use the functions of <kymo/marker.h>, in the library.
 *
 *   range.c          marks and ranges of a thread: the path of an annotation; range.h is what the files share
 *   process_range.c  ranges that one thread starts and another may stop
 *   extra.c          texts without a number, payloads, callbacks of a range
 *   control.c        pause and resume, names of objects
 *   submit.c         marks and ranges with times of the program's own
 *   fault.c          mistakes and limits, told when the process ends
 *   text.c           texts that become numbers, payloads that become bytes
 *   door.c           hooks of programs that include the header; the exported functions
 */
#ifndef CORE_MARKER_H
#define CORE_MARKER_H

#define KYMO_MARKER_LINKED
#include <kymo/marker.h>

#include <kymo/publish.h>

#include "core/capture.h"
#include "record/fields.h"

/* ---- domain "marker" --------------------------------------------------------------------- */

/* Fields and ops: model/marker.rec. */
extern struct cap_op marker_ops[MARKER_OPS];

/* ---- state ------------------------------------------------------------------------------- */

/* Tools listen or not; unknown until the first annotation of the process. */
enum marker_state { MARKER_UNKNOWN, MARKER_DEAF, MARKER_LISTENING };
extern _Atomic uint32_t marker_state;
/* Rises when somebody listens again after nobody did: what threads have open by then is not known. */
extern _Atomic uint32_t marker_generation;

/*
 * True if somebody listens; finds out if need be. Where that takes too long the answer is false, and so
 * many records are counted as lost.
 */
bool marker_begin(uint32_t records);

/* Mistakes of the program and stated limits, each a note of the trace. */
enum marker_fault {
	FAULT_UNBALANCED, /* pop without push */
	FAULT_UNKNOWN,    /* stop of what is not open */
	FAULT_DEEP,
	FAULT_MANY, /* process ranges open at once */
	FAULT_NULL,
	FAULT_CUT_TEXT,
	FAULT_CUT_PAYLOAD,
	FAULT_NAMES, /* more names than are kept as numbers */
	FAULT_TIMES, /* submitted with times that cannot be */
	FAULTS
};
void marker_fault(enum marker_fault fault);
/* FAULT_CUT_PAYLOAD: of a value of that many bytes. */
void marker_fault_cut(const kymo_payload_t *p, size_t bytes, bool left_out);
void marker_faults_note(void);
void marker_faults_fork_child(void);

/* ---- texts and payloads (text.c) --------------------------------------------------- */

/* A text with a number; lives until the process ends. */
struct marker_name {
	uint32_t id;
	uint32_t total; /* bytes it had */
	_Atomic bool defined;
	char text[]; /* at most KYMO_STRING_MAX */
};

/* The text as a number, made when it is new. NULL: there are too many, or no memory. */
const struct marker_name *marker_name(const char *text);
/* Number of a registered string; 0: none, or as above. */
uint32_t marker_string_id(kymo_string_t *string);
/* Text of a number, "" where there is none. */
const char *marker_string_text(uint32_t id);

/*
 * Payloads as bytes: u8 entries left out, then for each u8 type, u8 key length, u16 bytes stored,
 * u32 bytes there were, key, value. Adds to what lies in `out` (`used` of MARKER_PAYLOAD_MAX);
 * returns the new end.
 */
#define MARKER_PAYLOAD_MAX 800u
size_t marker_payload_put(uint8_t *out, size_t used, const kymo_payload_t *payload, uint32_t count);

/* ---- life -------------------------------------------------------------------------------- */

void marker_mark(const kymo_marker_t *m);
int marker_push(const char *name);
int marker_push_string(kymo_string_t *name);
int marker_push_full(const kymo_marker_t *m);
int marker_pop(uint32_t domain);
void marker_add(const kymo_payload_t *payload, uint32_t count);
uint64_t marker_start(const kymo_marker_t *m);
int marker_stop(uint64_t id);
/* A range that is over, a mark if it ends where it starts; in units of the clock. */
void marker_submit(const kymo_marker_t *m, kymo_clock_t clock, uint64_t start, uint64_t end);
/* A time of a clock on the host's time line, as well as is known by now. */
uint64_t marker_host_time(kymo_clock_t clock, uint64_t units);
/* Whether the process can have been at such times of the clock by now. */
bool marker_possible(kymo_clock_t clock, uint64_t start, uint64_t end);
/* Id of a scope that is not entered; 0: nobody listens. */
int64_t marker_new_scope(void);
void marker_control(kymo_control_t what);
void marker_name_object(kymo_object_t what, const char *runtime, uint64_t handle, const char *name);

/* In a forked child: ranges of the parent are not this process's. */
void marker_ranges_fork_child(void);

/* ---- for core ---- */
/* The calling thread, which has blocked signals, ends: so do its ranges. */
void core_marker_thread_end(struct cap_thread *t);
/* The process ends: so do all ranges; mistakes are noted. */
void core_marker_finalize(void);

#endif
