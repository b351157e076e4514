/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers of other tools' files need besides trace.h: the domains of the record model, operations
 * with arguments of their own, and the arguments of one call as records hold them.
 *
 *   make_activities(t, &a)                  the model's domains, in the trace
 *   op = make_op(t, domain, "hipMemcpy", fields, 2)
 *   make_fields_begin(&m, &t->ops[op]); make_number(&m, 42); make_text(&m, "x", 1);
 *   call.op = op; call.wire = make_fields_end(&m);
 *   make_complete(t)                        once all definitions are there, before sink->begin()
 */
#ifndef STREAM_MAKE_H
#define STREAM_MAKE_H

#include "stream/trace.h"
#include "stream/unplaced.h"

enum { MAKE_DOMAINS = 32 };

/* Indexes of the first op of each domain of the record model (enum record_domain), once it is there. */
struct make_activities {
	struct trace *t;
	uint32_t first[MAKE_DOMAINS];
};

void make_activities(struct trace *t, struct make_activities *a);

/* Index of the op of that number (DISPATCH_OP_KERNEL ...); its domain comes into the trace with it. */
uint32_t make_activity(struct make_activities *a, enum record_domain domain, uint32_t op);

/*
 * The ops of kernels, copies, memory, waits, markers and counters, which a file may have: they must be there
 * before the first record.
 */
void make_usual_activities(struct trace *t, struct make_activities *a);

/* Index of the domain of that name, added if there is none. */
uint32_t make_domain(struct trace *t, const char *name, const char *title);

/*
 * Likewise, of operations that a file names: one that is called like a domain of the record model ("comm"), whose records
 * have fields of their own, is "foreign.comm".
 */
uint32_t make_foreign_domain(struct trace *t, const char *name);
/* What the file called a domain of that name. */
const char *make_own_domain(const char *name);
/* The domain is what make_foreign_domain() gives for that name. */
bool make_is_foreign_domain(const struct trace *t, uint32_t domain, const char *name);

struct make_field {
	const char *name;
	uint8_t kind; /* kymo_kind_t: UNSIGNED, SIGNED, SIZE, POINTER (of 8 bytes), STRING */
};

/* A new op of the domain, numbered behind its others. Names are copied. */
uint32_t make_op(struct trace *t, uint32_t domain, const char *name,
		 const struct make_field *fields, uint32_t count);

/* The index of a text, one for each; 0: no memory. Look texts up by a map of your own. */
uint32_t make_string(struct trace *t, const char *s, size_t length);

/* ---- arguments ------------------------------------------------------------------------------- */

/* Holds one record's fields, until the next begin. */
struct make_fields {
	struct wire_enc enc;
	struct wire_record record;
	const struct t_op *op;
	uint32_t index;
	uint8_t memory[WIRE_RECORD_MAX + WIRE_SLACK + 64];
};

void make_fields_begin(struct make_fields *m, const struct t_op *op);
/* The next field's value, in the order of the op. What finds no room is cut, and says so. */
void make_number(struct make_fields *m, uint64_t value);
void make_text(struct make_fields *m, const char *s, size_t length);
void make_absent(struct make_fields *m);
const struct wire_record *make_fields_end(struct make_fields *m);

/*
 * What could not be taken of the file, so that all that is made of the trace tells it: records, and damaged
 * places. Of the first process where `process` is 0; may come until sink->end().
 */
void make_lost(struct trace *t, uint32_t process, uint64_t records, uint64_t damaged);

/*
 * Before sink->begin(): all that, with the trace, what is lost as lost and each kind as a note of `part`; what comes
 * later is lost by make_lost().
 */
void make_left_out(struct trace *t, const struct unplaced *u, const char *part, uint64_t damaged);

/* Says that the file has nothing of which a trace can be made. */
kymo_status_t make_no_event(struct stream_log *log, const char *path);
/* Says that there was no memory to read it, where that is the status. */
void make_tell_memory(kymo_status_t status, struct stream_log *log, const char *path);

/* Numbers and names that follow from all others; the origin must be set. False: there was no memory. */
bool make_complete(struct trace *t);

#endif
