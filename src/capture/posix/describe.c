/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "posix": its calls, and what they are told with. */
#include <errno.h>
#include <pthread.h>

#include "capture/posix/posix.h"
#include "core/capture.h"

/* Without pointers, which would be relocated in every process: described where it is asked for. */
static const struct {
	char name[8], type[13];
	uint8_t kind, size, flags;
} known_fields[POSIX_FIELD_KINDS] = {
	[POSIX_FD] = {"fd", "int", KYMO_KIND_SIGNED, 4, 0},
	[POSIX_FILE] = {"file", "string", KYMO_KIND_REF, 4, 0},
	[POSIX_TO] = {"to", "string", KYMO_KIND_REF, 4, 0},
	[POSIX_SIZE] = {"size", "size_t", KYMO_KIND_SIZE, 8, 0},
	[POSIX_MOVED] = {"moved", "ssize_t", KYMO_KIND_SIZE, 8, KYMO_FIELD_OUT},
	[POSIX_OFFSET] = {"offset", "off_t", KYMO_KIND_SIGNED, 8, 0},
	[POSIX_FLAGS] = {"flags", "int", KYMO_KIND_UNSIGNED, 4, 0},
	[POSIX_NEW] = {"new", "int", KYMO_KIND_SIGNED, 4, KYMO_FIELD_OUT},
	[POSIX_ADDRESS] = {"address", "const void *", KYMO_KIND_POINTER, 8, 0},
};

enum shape {
	SHAPE_OPEN,
	SHAPE_FD,
	SHAPE_MOVE,
	SHAPE_MOVE_AT,
	SHAPE_AT,
	SHAPE_CONTROL,
	SHAPE_NEW,
	SHAPE_MAP,
	SHAPE_RANGE,
	SHAPE_COPY,
	SHAPES
};

static const uint8_t shapes[SHAPES][POSIX_FIELDS] = {
	[SHAPE_OPEN] = {POSIX_FILE, POSIX_FLAGS, POSIX_NEW},
	[SHAPE_FD] = {POSIX_FD, POSIX_FILE},
	[SHAPE_MOVE] = {POSIX_FD, POSIX_FILE, POSIX_SIZE, POSIX_MOVED},
	[SHAPE_MOVE_AT] = {POSIX_FD, POSIX_FILE, POSIX_SIZE, POSIX_MOVED, POSIX_OFFSET},
	[SHAPE_AT] = {POSIX_FD, POSIX_FILE, POSIX_OFFSET},
	[SHAPE_CONTROL] = {POSIX_FD, POSIX_FILE, POSIX_FLAGS, POSIX_NEW},
	[SHAPE_NEW] = {POSIX_FD, POSIX_FILE, POSIX_NEW},
	[SHAPE_MAP] = {POSIX_FD, POSIX_FILE, POSIX_SIZE, POSIX_OFFSET, POSIX_ADDRESS},
	[SHAPE_RANGE] = {POSIX_ADDRESS, POSIX_SIZE},
	[SHAPE_COPY] = {POSIX_FD, POSIX_FILE, POSIX_TO, POSIX_SIZE, POSIX_MOVED},
};

static const struct {
	char name[18];
	uint8_t shape;
} rows[POSIX_OP_COUNT] = {
#define POSIX_OP(id, name, fields) {name, SHAPE_##fields},
	POSIX_OPS(POSIX_OP)
#undef POSIX_OP
};

static const struct {
	char name[16];
	int32_t value;
} errors[] = {
#define ERROR(name)                                                                                \
	{                                                                                          \
#name, name                                                                        \
	}
	ERROR(EPERM),         ERROR(ENOENT),      ERROR(EINTR),        ERROR(EIO),
	ERROR(ENXIO),         ERROR(EBADF),       ERROR(EAGAIN),       ERROR(ENOMEM),
	ERROR(EACCES),        ERROR(EFAULT),      ERROR(EBUSY),        ERROR(EEXIST),
	ERROR(EXDEV),         ERROR(ENODEV),      ERROR(ENOTDIR),      ERROR(EISDIR),
	ERROR(EINVAL),        ERROR(ENFILE),      ERROR(EMFILE),       ERROR(ENOTTY),
	ERROR(ETXTBSY),       ERROR(EFBIG),       ERROR(ENOSPC),       ERROR(ESPIPE),
	ERROR(EROFS),         ERROR(EPIPE),       ERROR(EDEADLK),      ERROR(ENAMETOOLONG),
	ERROR(ENOLCK),        ERROR(ENOSYS),      ERROR(ELOOP),        ERROR(EOVERFLOW),
	ERROR(ENOTSOCK),      ERROR(EMSGSIZE),    ERROR(EOPNOTSUPP),   ERROR(EADDRINUSE),
	ERROR(EADDRNOTAVAIL), ERROR(ENETUNREACH), ERROR(ECONNABORTED), ERROR(ECONNRESET),
	ERROR(ENOTCONN),      ERROR(ETIMEDOUT),   ERROR(ECONNREFUSED), ERROR(EHOSTUNREACH),
	ERROR(EALREADY),      ERROR(EINPROGRESS), ERROR(ESTALE),       ERROR(EDQUOT),
	ERROR(ECANCELED),
#undef ERROR
};
#define ERRORS (sizeof(errors) / sizeof(*errors))

static kymo_enum_value_t error_values[ERRORS];
static kymo_enum_set_t statuses;
static kymo_field_t fields[SHAPES][POSIX_FIELDS];
static kymo_op_desc_t ops[POSIX_OP_COUNT];
static kymo_domain_desc_t desc;

static uint16_t describe_shape(unsigned shape)
{
	uint16_t n = 0;

	for (; n < POSIX_FIELDS && shapes[shape][n] != POSIX_NO_FIELD; n++) {
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
	for (unsigned i = 0; i < POSIX_OP_COUNT; i++)
		ops[i] = (kymo_op_desc_t){.name = rows[i].name,
					  .fields = fields[rows[i].shape],
					  .field_count = describe_shape(rows[i].shape),
					  .status_set = &statuses};
	desc = (kymo_domain_desc_t){sizeof(desc),   "posix", "Files and sockets", 1,
				    POSIX_OP_COUNT, ops};
}

static const kymo_domain_desc_t *description(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, describe);
	return &desc;
}
CAP_KNOWN_DOMAIN(posix, description());

static struct cap_op caps[POSIX_OP_COUNT];
static struct cap_domain *domain;

static void flush(uint64_t deadline)
{
	posix_tell();
}

static const struct cap_domain_info info = {.desc = &desc, .ops = caps, .flush = flush};

bool posix_describe(void)
{
	description();
	return cap_domain_register(&info, &domain) == KYMO_OK;
}

const kymo_op_desc_t *posix_op(unsigned op, struct cap_op **cap)
{
	*cap = &caps[op];
	return &ops[op];
}

const uint8_t *posix_fields_of(unsigned op)
{
	return shapes[rows[op].shape];
}
