/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "lock": its calls, and what they are told with. */
#include <errno.h>
#include <pthread.h>

#include "capture/lock/lock.h"
#include "core/capture.h"

/* Without pointers, which would be relocated in every process: described where it is asked for. */
static const struct {
	char name[9], type[13];
	uint8_t kind, size, flags;
} known_fields[LOCK_FIELD_KINDS] = {
	[LOCK_OBJECT] = {"object", "const void *", KYMO_KIND_POINTER, 8, 0},
	[LOCK_MUTEX] = {"mutex", "const void *", KYMO_KIND_POINTER, 8, 0},
	[LOCK_OWNER] = {"owner", "pid_t", KYMO_KIND_UNSIGNED, 4, 0},
	[LOCK_WOKEN_BY] = {"woken_by", "pid_t", KYMO_KIND_UNSIGNED, 4, KYMO_FIELD_OUT},
	[LOCK_HELD] = {"held", "uint64_t", KYMO_KIND_TIME, 8, 0},
};

enum shape { SHAPE_OBJECT, SHAPE_OWNED, SHAPE_HELD, SHAPE_WAIT, SHAPE_WOKEN, SHAPES };

static const uint8_t shapes[SHAPES][LOCK_FIELDS] = {
	[SHAPE_OBJECT] = {LOCK_OBJECT},
	[SHAPE_OWNED] = {LOCK_OBJECT, LOCK_OWNER},
	[SHAPE_HELD] = {LOCK_OBJECT, LOCK_HELD},
	[SHAPE_WAIT] = {LOCK_OBJECT, LOCK_MUTEX, LOCK_WOKEN_BY},
	[SHAPE_WOKEN] = {LOCK_OBJECT, LOCK_WOKEN_BY},
};

static const struct {
	char name[23];
	uint8_t shape;
} rows[LOCK_OP_COUNT] = {
#define LOCK_OP(id, name, fields) {name, SHAPE_##fields},
	LOCK_OPS(LOCK_OP)
#undef LOCK_OP
};

static const struct {
	char name[16];
	int32_t value;
} errors[] = {
	{"EPERM", EPERM},         {"EINTR", EINTR},           {"EAGAIN", EAGAIN},
	{"EBUSY", EBUSY},         {"EINVAL", EINVAL},         {"EDEADLK", EDEADLK},
	{"ETIMEDOUT", ETIMEDOUT}, {"EOWNERDEAD", EOWNERDEAD}, {"ENOTRECOVERABLE", ENOTRECOVERABLE},
};
#define ERRORS (sizeof(errors) / sizeof(*errors))

static kymo_enum_value_t error_values[ERRORS];
static kymo_enum_set_t statuses;
static kymo_field_t fields[SHAPES][LOCK_FIELDS];
static kymo_op_desc_t ops[LOCK_OP_COUNT];
static kymo_domain_desc_t desc;

static uint16_t describe_shape(unsigned shape)
{
	uint16_t n = 0;

	for (; n < LOCK_FIELDS && shapes[shape][n] != LOCK_NO_FIELD; n++) {
		const unsigned f = shapes[shape][n];

		fields[shape][n] = (kymo_field_t){.name = known_fields[f].name,
						  .type = known_fields[f].type,
						  .kind = known_fields[f].kind,
						  .size = known_fields[f].size,
						  .flags = known_fields[f].flags};
	}
	return n;
}

static void describe(void)
{
	for (unsigned i = 0; i < ERRORS; i++)
		error_values[i] = (kymo_enum_value_t){errors[i].name, errors[i].value};
	statuses = (kymo_enum_set_t){"errno", error_values, ERRORS};
	for (unsigned i = 0; i < LOCK_OP_COUNT; i++)
		ops[i] = (kymo_op_desc_t){.name = rows[i].name,
					  .fields = fields[rows[i].shape],
					  .field_count = describe_shape(rows[i].shape),
					  .status_set = &statuses};
	desc = (kymo_domain_desc_t){sizeof(desc),  "lock", "Waits of threads for threads", 1,
				    LOCK_OP_COUNT, ops};
}

static const kymo_domain_desc_t *description(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, describe);
	return &desc;
}
CAP_KNOWN_DOMAIN(lock, description());

static struct cap_op caps[LOCK_OP_COUNT];
static struct cap_domain *domain;

static void flush(uint64_t deadline)
{
	lock_tell();
}

static const struct cap_domain_info info = {.desc = &desc, .ops = caps, .flush = flush};

bool lock_describe(void)
{
	description();
	return cap_domain_register(&info, &domain) == KYMO_OK;
}

const kymo_op_desc_t *lock_op(unsigned op, struct cap_op **cap)
{
	*cap = &caps[op];
	return &ops[op];
}

const uint8_t *lock_fields_of(unsigned op)
{
	return shapes[rows[op].shape];
}
