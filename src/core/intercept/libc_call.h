/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of functions of the C library that a preloaded library stands before (libc_door.h): one description of a domain of
 * them, one way to record them. They may come from signals' handlers, whose thread may be in the middle of anything: then
 * only what takes no lock and no memory is done, or the call is counted.
 *
 * A backend has a structure for a call, with struct libc_call first, and says which of its members the fields of an op are.
 */
#ifndef CORE_INTERCEPT_LIBC_CALL_H
#define CORE_INTERCEPT_LIBC_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/tool.h>
#include <kymo/schema.h>

#include "core/capture.h"

#define LIBC_FIELDS 5u /* of an op, at most */

struct libc_call { /* first in a backend's structure of a call, on the caller's stack */
	uint8_t op;
	struct cap_frame *frame;
};

/* Without pointers, as the tables below: these would be relocated in every process. */
struct libc_field {
	char name[12], type[13];
	uint8_t kind, size,
		flags; /* as in kymo_field_t; what comes out of a call that failed is left out */
	uint8_t at, width; /* offset of the member of the call, its bytes: 4 or 8 */
	bool unless_zero;  /* 0: not known, and left out */
};

/* Member of the call. */
#define LIBC_MEMBER(type, member) offsetof(type, member), sizeof(((type *)0)->member)

struct libc_op {
	char name[24];
	uint8_t shape, flags; /* KYMO_OP_* */
};

/* A domain; made by LIBC_DOMAIN(). */
struct libc_domain {
	const char *name, *title;
	const struct libc_field *fields; /* [0] is none */
	const uint8_t (
		*shapes)[LIBC_FIELDS]; /* numbers of fields, ended by 0 where there are fewer */
	const struct libc_op *rows;
	uint32_t count; /* of ops */
	void (*finish)(struct libc_call *c,
		       int error); /* the call has ended: what it is told with; may be NULL */
	void (*tell)(void);        /* what is told besides; may be NULL */
	/* What describing it fills. */
	struct cap_op *caps;
	kymo_op_desc_t *ops;
	kymo_field_t (*described)[LIBC_FIELDS]; /* by op */
	struct cap_domain_info info;
	kymo_domain_desc_t desc;
	struct cap_domain *domain;
	_Atomic uint64_t passed;
	_Atomic int started; /* 0: not yet, 1: can be recorded, -1: cannot */
};

/* Defines the domain `id##_domain`, of whose name `id` is; `...`: its first members but for the name. */
#define LIBC_DOMAIN(id, op_count, ...)                                                             \
	static struct libc_domain id##_domain;                                                     \
	static struct cap_op id##_caps[op_count];                                                  \
	static kymo_op_desc_t id##_ops[op_count];                                                  \
	static kymo_field_t id##_described[op_count][LIBC_FIELDS];                                 \
	static void id##_flush(uint64_t deadline)                                                  \
	{                                                                                          \
		libc_domain_tell(&id##_domain);                                                    \
	}                                                                                          \
	static struct libc_domain id##_domain = {.name = #id,                                      \
						 .count = op_count,                                \
						 .caps = id##_caps,                                \
						 .ops = id##_ops,                                  \
						 .described = id##_described,                      \
						 .info = {.flush = id##_flush},                    \
						 __VA_ARGS__};                                     \
	CAP_KNOWN_DOMAIN(id, libc_domain_describe(&id##_domain))

/* Any thread, as often as wanted. */
const kymo_domain_desc_t *libc_domain_describe(struct libc_domain *d);
/* Tells of calls that were not recorded. */
void libc_domain_tell(struct libc_domain *d);

/* ---- for doors ---- */

/* Makes the domain and the calling thread known. False: nothing can be recorded. Keeps errno, as all of these. */
bool libc_domain_start(struct libc_domain *d);
/* False: call on, nothing is recorded. */
KYMO_EXPORT bool kymo_libc_enter(struct libc_domain *d, struct libc_call *c, const void *caller,
				 const void *sp);
/* The call returned; `error` is errno's number, 0: it succeeded. */
KYMO_EXPORT void kymo_libc_leave(struct libc_domain *d, struct libc_call *c, int error);
/* A call from a signal's handler was not recorded, because its thread was being recorded just then. */
KYMO_EXPORT void kymo_libc_passed(struct libc_domain *d);

#endif
