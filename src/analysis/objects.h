/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of runtimes that are no memory: contexts, queues, events, kernels, communicators, datatypes, ... Which of
 * them were there at the end, and which line made them. Known from the calls that make, keep (count a reference to) and
 * release them.
 *
 * Memory is proportional to the handles that were seen: a handle that is used again is one.
 */
#ifndef ANALYSIS_OBJECTS_H
#define ANALYSIS_OBJECTS_H

#include "base/map.h"
#include "stream/stream.h"

struct object_kind; /* object_kinds.c */

/* What a call does to an object: which field says to which. */
enum object_does { OBJECT_NONE, OBJECT_MAKES, OBJECT_KEEPS, OBJECT_RELEASES };

struct object_op {
	uint8_t does; /* enum object_does */
	uint8_t kind;
	uint8_t field; /* number from 1 */
};

/* A line of the program that makes objects of one kind. */
struct object_line {
	uint32_t process, kind, op, site; /* op UINT32_MAX: which lines is not known */
	uint64_t made;
	uint64_t alive; /* at the end; where releases were only counted: at least */
	uint64_t most;  /* likewise, at most */
	int64_t first;  /* that is alive */
};

/* A handle, and the last object that it stood for. */
struct object {
	uint64_t handle, makes, keeps, releases;
	uint64_t
		parent; /* of the call that made it last: the call that that was made in, 0: none */
	uint64_t outer; /* likewise, of the call that released it last */
	int64_t made, released;
	uint32_t process, kind, line; /* line: its number from 1; 0: it was never seen to be made */
	bool alive;                   /* set by objects_finish() */
};

struct objects {
	const struct trace *trace;
	struct object_op *ops; /* by op */
	struct object *list;
	struct object_line *lines;
	uint32_t count, room, lines_count, lines_room;
	struct object_line **order; /* those of which something is alive, the most first */
	uint32_t alive_count;
	struct map places, line_places; /* by hash: number from 1 */
	struct map communicators;       /* by process and handle */
	bool cut, failed;               /* more than can be kept; no memory */
};

struct objects *objects_new(const struct trace *t);
void objects_free(struct objects *o);

/* Any call; of most nothing is wanted. */
void objects_call_wanted(struct objects *o, const struct rec *r);
static inline void objects_call(struct objects *o, const struct rec *r)
{
	if (__builtin_expect(o->ops[r->op].does != OBJECT_NONE, 0))
		objects_call_wanted(o, r);
}

/* After the last call: what is alive, and of which line. */
void objects_finish(struct objects *o);

/* "OpenCL event" */
const char *objects_kind_name(uint32_t kind);

/* ---- object_kinds.c ------------------------------------------------------------------------------- */

#define OBJECT_KINDS 64u /* there are fewer */

enum {
	OBJECT_COUNTED =
		1, /* references to it are counted; who makes it may get one that is there */
	OBJECT_OUTERMOST = 2,   /* made inside of a call it is the runtime's */
	OBJECT_COMMUNICATOR = 4 /* handles that stand for none are never defined */
};

/* By its name it does something to an object. */
bool objects_op(const struct t_op *op);
/* What calls of this op do. */
struct object_op object_op_of(const struct trace *t, const struct t_op *op);
unsigned object_kind_flags(uint32_t kind);

#endif
