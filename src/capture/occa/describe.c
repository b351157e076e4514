/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "occa": its calls, and what they are told with. */
#include <pthread.h>

#include "capture/occa/occa.h"

#define FIELD_COUNT(fields) (sizeof(fields) / sizeof(fields[0]))
#define TEXT(name)                                                                                 \
	{                                                                                          \
		name, "string", NULL, KYMO_KIND_REF, 0, 4, 0                                       \
	}
#define BYTES                                                                                      \
	{                                                                                          \
		"bytes", "udim_t", NULL, KYMO_KIND_SIZE, 0, 8, 0                                   \
	}
#define HANDLE(name, type)                                                                         \
	{                                                                                          \
		name, type, NULL, KYMO_KIND_HANDLE, 0, 8, 0                                        \
	}

static const kymo_field_t SETUP[] = {TEXT("device"), TEXT("mode")};
static const kymo_field_t DEVICE[] = {TEXT("device")};
static const kymo_field_t STREAM[] = {TEXT("device"), TEXT("stream")};
static const kymo_field_t TIME[] = {TEXT("device"),
				    {"between", "double", NULL, KYMO_KIND_TIME, 0, 8, 0}};
static const kymo_field_t BUILD[] = {TEXT("device"), TEXT("kernel"), TEXT("source"), TEXT("mode")};
static const kymo_field_t RUN[] = {TEXT("device"), TEXT("kernel"), TEXT("source"), TEXT("mode"),
				   TEXT("stream")};
static const kymo_field_t MEMORY[] = {TEXT("device"), HANDLE("memory", "modeMemory_t *"), BYTES};
static const kymo_field_t POOL[] = {TEXT("device"), HANDLE("pool", "modeMemoryPool_t *"), BYTES};
static const kymo_field_t RESERVE[] = {TEXT("device"), HANDLE("pool", "modeMemoryPool_t *"), BYTES,
				       HANDLE("memory", "modeMemory_t *")};
static const kymo_field_t COPY[] = {TEXT("device"),
				    HANDLE("memory", "modeMemory_t *"),
				    BYTES,
				    {"other", "const void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
				    {"async", "bool", NULL, KYMO_KIND_BOOL, 0, 1, 0}};
static const kymo_field_t BUFFER[] = {TEXT("device"),
				      HANDLE("buffer", "modeBuffer_t *"),
				      BYTES,
				      TEXT("what"),
				      {"lifetime", "uint64_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0}};

/* Without pointers, which would be relocated in every process: described where OCCA is met. */
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
	SHAPE_BUFFER
};
static const struct {
	char name[32];
	uint8_t shape, flags;
} rows[OCCA_OP_COUNT] = {
#define OCCA_OP(id, name, fields, flags) {name, SHAPE_##fields, flags},
	OCCA_OPS(OCCA_OP)
#undef OCCA_OP
};

static kymo_op_desc_t ops[OCCA_OP_COUNT];
static kymo_domain_desc_t desc;

static void set_fields(kymo_op_desc_t *op, enum shape shape)
{
#define SHAPE(which)                                                                               \
	case SHAPE_##which:                                                                        \
		op->fields = which;                                                                \
		op->field_count = FIELD_COUNT(which);                                              \
		break
	switch (shape) {
		SHAPE(SETUP);
		SHAPE(DEVICE);
		SHAPE(STREAM);
		SHAPE(TIME);
		SHAPE(BUILD);
		SHAPE(RUN);
		SHAPE(MEMORY);
		SHAPE(POOL);
		SHAPE(RESERVE);
		SHAPE(COPY);
		SHAPE(BUFFER);
	}
#undef SHAPE
}

static void describe(void)
{
	for (unsigned i = 0; i < OCCA_OP_COUNT; i++) {
		ops[i] = (kymo_op_desc_t){.name = rows[i].name, .flags = rows[i].flags};
		set_fields(&ops[i], (enum shape)rows[i].shape);
	}
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
