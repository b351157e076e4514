/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of CUDA's two APIs: generated from api/cuda. */
#ifndef CAPTURE_CUDA_MODEL_H
#define CAPTURE_CUDA_MODEL_H

#include "core/activity/activity.h"
#include "core/capture.h"
#include "wire/place.h"

enum cuda_api { CUDA_DRIVER, CUDA_RUNTIME, CUDA_APIS };

/* Where a recorded value lies in the structure of a call's arguments. */
enum cuda_how {
	CUDA_PLAIN,  /* in it */
	CUDA_INSIDE, /* `behind` bytes into what a pointer in it points to; null: absent */
	CUDA_AFTER   /* what a pointer in it points to, after a call that succeeded */
};

struct cuda_place {
	struct wire_place in;
	uint8_t kind; /* kymo_kind_t */
	uint8_t how;  /* enum cuda_how */
};

/* What a call does besides being a call. */
enum cuda_role_kind {
	CUDA_ROLE_NONE,
	CUDA_ROLE_WAIT_QUEUE,
	CUDA_ROLE_WAIT_EVENT,
	CUDA_ROLE_WAIT_DEVICE,
	CUDA_ROLE_BARRIER,
	CUDA_ROLE_RECORD,
	CUDA_ROLE_ALLOCATE,
	CUDA_ROLE_ALLOCATE_PITCH, /* `bytes` is of a row, `rows` says how many */
	CUDA_ROLE_FREE,
	CUDA_ROLE_QUEUE, /* makes a stream: `bytes` holds its flags, `rows` its priority */
	CUDA_ROLE_QUEUE_END,
	CUDA_ROLE_LOAD,     /* of code */
	CUDA_ROLE_FUNCTION, /* gets a kernel from the driver, as who launches by it does */
	CUDA_ROLE_CAPTURE,
	CUDA_ROLE_CAPTURE_END, /* of what is put into a stream */
	CUDA_ROLE_START,
	CUDA_ROLE_STOP, /* of recording */
	CUDA_ROLE_LAUNCH
};

/* Offsets of its arguments, plus one; 0: there is no such argument. */
struct cuda_role {
	uint8_t role; /* enum cuda_role_kind */
	uint8_t kind; /* enum memory_kind */
	uint8_t what; /* enum allocation_what */
	uint16_t queue, object, bytes, rows;
	bool after_object, after_bytes; /* a pointer to the value, read after the call */
	bool narrow;                    /* sizes and addresses are of 32 bits */
};

struct cuda_model {
	const kymo_domain_desc_t *desc; /* NULL before the door was opened */
	struct cap_op *caps;
	const struct cuda_place *places;
	const uint16_t *first_places; /* by op: where those of its fields begin */
	const uint16_t *cbids;        /* by op: CUPTI's number of the function */
	const struct cuda_role *roles;
	uint32_t last_cbid;
};

extern const struct cuda_rows cuda_rows;
#define CUDA_PACKED ((const struct packed *)&cuda_rows)
extern struct cuda_model cuda_models[CUDA_APIS];

static inline const struct cuda_place *cuda_places(const struct cuda_model *m, uint32_t op)
{
	return &m->places[m->first_places[op]];
}

#endif
