/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "occa": its calls, and what they are told with. */
#include <pthread.h>

#include "capture/occa/occa.h"

/* Without pointers, which would be relocated in every process: described where OCCA is met. */
enum field {
	NO_FIELD,
	F_DEVICE,
	F_MODE,
	F_STREAM,
	F_BETWEEN,
	F_KERNEL,
	F_SOURCE,
	F_MEMORY,
	F_BYTES,
	F_POOL,
	F_OTHER,
	F_ASYNC,
	F_BUFFER,
	F_WHAT,
	F_LIFETIME,
	F_ARGUMENTS,
	FIELDS
};

static const struct {
	char name[12], type[20];
	uint8_t kind, size;
} known_fields[FIELDS] = {
	[F_DEVICE] = {"device", "string", KYMO_KIND_REF, 4},
	[F_MODE] = {"mode", "string", KYMO_KIND_REF, 4},
	[F_STREAM] = {"stream", "string", KYMO_KIND_REF, 4},
	[F_BETWEEN] = {"between", "double", KYMO_KIND_TIME, 8},
	[F_KERNEL] = {"kernel", "string", KYMO_KIND_REF, 4},
	[F_SOURCE] = {"source", "string", KYMO_KIND_REF, 4},
	[F_MEMORY] = {"memory", "modeMemory_t *", KYMO_KIND_HANDLE, 8},
	[F_BYTES] = {"bytes", "udim_t", KYMO_KIND_SIZE, 8},
	[F_POOL] = {"pool", "modeMemoryPool_t *", KYMO_KIND_HANDLE, 8},
	[F_OTHER] = {"other", "const void *", KYMO_KIND_POINTER, 8},
	[F_ASYNC] = {"async", "bool", KYMO_KIND_BOOL, 1},
	[F_BUFFER] = {"buffer", "modeBuffer_t *", KYMO_KIND_HANDLE, 8},
	[F_WHAT] = {"what", "string", KYMO_KIND_REF, 4},
	[F_LIFETIME] = {"lifetime", "uint64_t", KYMO_KIND_UNSIGNED, 8},
	[F_ARGUMENTS] = {"memory", "modeMemory_t *", KYMO_KIND_ARRAY, 8},
};

enum shape {
	SHAPE_SETUP,
	SHAPE_DEVICE,
	SHAPE_STREAM,
	SHAPE_TIME,
	SHAPE_BUILD,
	SHAPE_RUN,
	SHAPE_MEMORY,
	SHAPE_POOL,
	SHAPE_RESERVE,
	SHAPE_COPY,
	SHAPE_BUFFER,
	SHAPES
};

static const uint8_t shapes[SHAPES][OCCA_FIELDS] = {
	[SHAPE_SETUP] = {F_DEVICE, F_MODE},
	[SHAPE_DEVICE] = {F_DEVICE},
	[SHAPE_STREAM] = {F_DEVICE, F_STREAM},
	[SHAPE_TIME] = {F_DEVICE, F_BETWEEN},
	[SHAPE_BUILD] = {F_DEVICE, F_KERNEL, F_SOURCE, F_MODE},
	[SHAPE_RUN] = {F_DEVICE, F_KERNEL, F_SOURCE, F_MODE, F_STREAM, F_ARGUMENTS},
	[SHAPE_MEMORY] = {F_DEVICE, F_MEMORY, F_BYTES},
	[SHAPE_POOL] = {F_DEVICE, F_POOL, F_BYTES},
	[SHAPE_RESERVE] = {F_DEVICE, F_POOL, F_BYTES, F_MEMORY},
	[SHAPE_COPY] = {F_DEVICE, F_MEMORY, F_BYTES, F_OTHER, F_ASYNC},
	[SHAPE_BUFFER] = {F_DEVICE, F_BUFFER, F_BYTES, F_WHAT, F_LIFETIME},
};

static const struct {
	char name[32];
	uint8_t shape, flags;
} rows[OCCA_OP_COUNT] = {
#define OCCA_OP(id, name, fields, flags) {name, SHAPE_##fields, flags},
	OCCA_OPS(OCCA_OP)
#undef OCCA_OP
};

static kymo_field_t fields[SHAPES][OCCA_FIELDS];
static kymo_op_desc_t ops[OCCA_OP_COUNT];
static kymo_domain_desc_t desc;

static uint16_t describe_shape(unsigned shape)
{
	uint16_t n = 0;

	for (; n < OCCA_FIELDS && shapes[shape][n] != NO_FIELD; n++) {
		const unsigned f = shapes[shape][n];

		fields[shape][n] = (kymo_field_t){
			.name = known_fields[f].name,
			.type = known_fields[f].type,
			.kind = known_fields[f].kind,
			.size = known_fields[f].size,
			.element = known_fields[f].kind == KYMO_KIND_ARRAY ? KYMO_KIND_HANDLE : 0};
	}
	return n;
}

static void describe(void)
{
	for (unsigned i = 0; i < OCCA_OP_COUNT; i++)
		ops[i] = (kymo_op_desc_t){.name = rows[i].name,
					  .flags = rows[i].flags,
					  .fields = fields[rows[i].shape],
					  .field_count = describe_shape(rows[i].shape)};
	desc = (kymo_domain_desc_t){sizeof(desc), "occa", "OCCA", 1, OCCA_OP_COUNT, ops};
}

static const kymo_domain_desc_t *description(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, describe);
	return &desc;
}
CAP_KNOWN_DOMAIN(occa, description());

static struct cap_op caps[OCCA_OP_COUNT];
static struct cap_domain *domain;
static struct cap_domain_info info = {
	.desc = &desc, .ops = caps, .flush = occa_flush, .fork_child = occa_objects_fork_child};

bool occa_describe(void)
{
	description();
	return cap_domain_register(&info, &domain) == KYMO_OK;
}

const kymo_op_desc_t *occa_op(unsigned op, struct cap_op **cap)
{
	*cap = &caps[op];
	return &ops[op];
}
