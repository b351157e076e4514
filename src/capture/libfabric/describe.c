/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "libfabric": its calls and what they are told with. */
#include <pthread.h>

#include "capture/libfabric/libfabric.h"

#define FIELD_COUNT(fields) (sizeof(fields) / sizeof(fields[0]))

static const kymo_field_t OPENED[] = {
	{"of", "struct fid *", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"opened", "struct fid *", NULL, KYMO_KIND_HANDLE, 0, 8, KYMO_FIELD_OUT},
};
static const kymo_field_t FLAGGED[] = {
	{"of", "struct fid *", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"opened", "struct fid *", NULL, KYMO_KIND_HANDLE, 0, 8, KYMO_FIELD_OUT},
	{"flags", "uint64_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
};
static const kymo_field_t REGISTERED[] = {
	{"of", "struct fid *", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"buf", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
	{"len", "size_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"mr", "struct fid_mr *", NULL, KYMO_KIND_HANDLE, 0, 8, KYMO_FIELD_OUT},
};
static const kymo_field_t CLOSED[] = {
	{"fid", "struct fid *", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
};
static const kymo_field_t READ[] = {
	{"cq", "struct fid_cq *", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"count", "size_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"completions", "ssize_t", NULL, KYMO_KIND_SIGNED, 0, 8, KYMO_FIELD_OUT},
};
static const kymo_field_t TRANSFER[] = {
	{"ep", "struct fid_ep *", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"len", "size_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"addr", "fi_addr_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"tag", "uint64_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"context", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
};

/*
 * Without pointers, which would be relocated in every process: the description is made where
 * libfabric is met.
 */
enum shape {
	SHAPE_OPENED,
	SHAPE_FLAGGED,
	SHAPE_REGISTERED,
	SHAPE_CLOSED,
	SHAPE_READ,
	SHAPE_TRANSFER
};
static const struct {
	char name[20];
	uint8_t shape, flags;
} rows[FABRIC_COUNT] = {
#define FABRIC_OP(name, fields, flags) {#name, SHAPE_##fields, flags},
	FABRIC_OPS(FABRIC_OP)
#undef FABRIC_OP
};

static const struct {
	char name[20];
	int32_t value;
} errors[] = {
#define ERROR(name)                                                                                \
	{                                                                                          \
#name, -name                                                                       \
	}
	ERROR(FI_EAGAIN),        ERROR(FI_ENOMEM),       ERROR(FI_EINVAL),    ERROR(FI_ENOSYS),
	ERROR(FI_EBUSY),         ERROR(FI_ENODATA),      ERROR(FI_EMSGSIZE),  ERROR(FI_ETIMEDOUT),
	ERROR(FI_ENOTCONN),      ERROR(FI_ECONNREFUSED), ERROR(FI_ECANCELED), ERROR(FI_EOPNOTSUPP),
	ERROR(FI_EADDRNOTAVAIL), ERROR(FI_EOPBADSTATE),  ERROR(FI_EAVAIL),    ERROR(FI_ENOKEY),
	ERROR(FI_ENOAV),         ERROR(FI_EOVERRUN),
#undef ERROR
};

static kymo_enum_value_t error_values[FIELD_COUNT(errors)];
static kymo_enum_set_t statuses;
static kymo_op_desc_t ops[FABRIC_COUNT];
static kymo_domain_desc_t desc;

static void set_fields(kymo_op_desc_t *op, enum shape shape)
{
#define SHAPE(which)                                                                               \
	case SHAPE_##which:                                                                        \
		op->fields = which;                                                                \
		op->field_count = FIELD_COUNT(which);                                              \
		break
	switch (shape) {
		SHAPE(OPENED);
		SHAPE(FLAGGED);
		SHAPE(REGISTERED);
		SHAPE(CLOSED);
		SHAPE(READ);
		SHAPE(TRANSFER);
	}
#undef SHAPE
}

static void describe(void)
{
	for (unsigned i = 0; i < FIELD_COUNT(errors); i++)
		error_values[i] = (kymo_enum_value_t){errors[i].name, errors[i].value};
	statuses = (kymo_enum_set_t){"fi_errno", error_values, FIELD_COUNT(errors)};
	for (unsigned i = 0; i < FABRIC_COUNT; i++) {
		ops[i] = (kymo_op_desc_t){
			.name = rows[i].name, .flags = rows[i].flags, .status_set = &statuses};
		set_fields(&ops[i], (enum shape)rows[i].shape);
	}
	desc = (kymo_domain_desc_t){sizeof(desc), "libfabric", "libfabric", 1, FABRIC_COUNT, ops};
}

static const kymo_domain_desc_t *description(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, describe);
	return &desc;
}
CAP_KNOWN_DOMAIN(libfabric, description());

static struct cap_op caps[FABRIC_COUNT];
static struct cap_domain *domain;

/* Messages have ids of calls, also where the calls are not recorded. */
static void wanted(uint32_t activities)
{
	for (unsigned i = FABRIC_FIRST_TRANSFER; domain && i <= FABRIC_LAST_TRANSFER; i++)
		cap_require_wrapper(domain, i, comm_wanted_of(&caps[i]));
}

static const struct cap_domain_info info = {
	.desc = &desc, .ops = caps, .wanted = wanted, .fork_child = fabric_work_fork_child};

static bool known;

static void get_known(void)
{
	description();
	known = comm_register() && cap_domain_register(&info, &domain) == KYMO_OK;
	if (known)
		wanted(0);
}

bool fabric_known(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	cap_load();
	pthread_once(&once, get_known);
	return known;
}

const kymo_op_desc_t *fabric_op(unsigned op, struct cap_op **cap)
{
	*cap = &caps[op];
	return &ops[op];
}
