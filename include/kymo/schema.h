/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How domains, operations and the fields of their records are described at run time. The same
 * description serves the encoder in the traced program, reflection for tools, and every reader of
 * a trace: no reader needs a header of the traced API.
 *
 * All structures here are static, immutable and owned by whoever registers the domain; they must
 * stay valid until the process ends.
 */
#ifndef KYMO_SCHEMA_H
#define KYMO_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a field's value is. Numbers are part of the trace format: append only. */
typedef enum kymo_kind {
	KYMO_KIND_UNSIGNED = 1, /* unsigned integer of `size` bytes */
	KYMO_KIND_SIGNED = 2,   /* signed integer of `size` bytes */
	KYMO_KIND_FLOAT = 3,    /* IEEE float (4) or double (8) */
	KYMO_KIND_POINTER = 4,  /* address; no meaning beyond its value */
	KYMO_KIND_HANDLE = 5,   /* object handle; `type` names its class, e.g. "cl_kernel" */
	KYMO_KIND_ENUM = 6,     /* one name of `set` */
	KYMO_KIND_FLAGS = 7,    /* names of `set` or'ed */
	KYMO_KIND_BOOL = 8,
	KYMO_KIND_STRING = 9, /* text, not terminated, UTF-8 expected */
	KYMO_KIND_BYTES = 10, /* raw bytes */
	KYMO_KIND_ARRAY = 11, /* elements of kind `element`, `size` bytes each */
	KYMO_KIND_TIME = 12,  /* unsigned or signed nanoseconds */
	KYMO_KIND_SIZE = 13,  /* bytes */
	KYMO_KIND_REF = 14    /* id of a definition (`type` says which: "queue", "kernel", ...) */
} kymo_kind_t;

/* Direction and role of a field. */
enum {
	KYMO_FIELD_IN = 0u,
	KYMO_FIELD_OUT = 1u,    /* value after the call; absent when the call failed */
	KYMO_FIELD_RESULT = 2u, /* the return value (when it is not the status) */
	KYMO_FIELD_DEREF = 4u   /* what the field of the same name without '*' points to */
};

typedef struct kymo_enum_value {
	const char *name;
	int64_t value;
} kymo_enum_value_t;

/* A named set of values; FLAGS fields use values as masks. */
typedef struct kymo_enum_set {
	const char *name;
	const kymo_enum_value_t *values;
	uint32_t count;
} kymo_enum_set_t;

typedef struct kymo_field {
	const char *name;           /* argument name; a dereferenced value is "*name" */
	const char *type;           /* type as the API spells it, e.g. "const cl_event *" */
	const kymo_enum_set_t *set; /* for ENUM and FLAGS (also of array elements), else NULL */
	uint8_t kind;               /* kymo_kind_t */
	uint8_t element;            /* kymo_kind_t of array elements, else 0 */
	uint8_t size;               /* bytes of the value or element: 1, 2, 4 or 8 */
	uint8_t flags;              /* KYMO_FIELD_* */
} kymo_field_t;

/* A record has at most this many fields. */
#define KYMO_FIELDS_MAX 40

/* Properties of an operation. */
enum {
	KYMO_OP_CHATTY = 1u,  /* query or setter left out of mode "default" */
	KYMO_OP_SUBMITS = 2u, /* puts work on a device */
	KYMO_OP_WAITS = 4u,   /* may block the host */
	KYMO_OP_MINIMAL = 8u, /* kept in mode "minimal" */
	KYMO_OP_ALLOCATES = 16u,
	KYMO_OP_ACTIVITY = 32u, /* of an activity domain: no call of a program */
	KYMO_OP_OBJECT = 64u,   /* tells tools of what traces hold as definitions or otherwise */
	KYMO_OP_TIMED = 128u,   /* published: when and where it was is in its last six fields */
	KYMO_OP_STATE = 256u /* published: what a thread is in, no call, and not counted as one */
};

typedef struct kymo_op_desc {
	const char *name;
	const kymo_field_t *fields;
	uint16_t field_count;
	uint16_t flags;                    /* KYMO_OP_* */
	const kymo_enum_set_t *status_set; /* names of the status, or NULL */
	int32_t status_ok;                 /* the status that means success, usually 0 */
} kymo_op_desc_t;

typedef struct kymo_domain_desc {
	size_t size;       /* sizeof(kymo_domain_desc_t) */
	const char *name;  /* "opencl"; lower case, unique in the process */
	const char *title; /* "OpenCL" */
	uint32_t version;  /* of the description */
	uint32_t op_count;
	const kymo_op_desc_t *ops;
} kymo_domain_desc_t;

#ifdef __cplusplus
}
#endif
#endif
