/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of domains without a pointer in them: rows of numbers, and texts by where they are
 * in one blob. Generated ones are written so (tools/gen/packed.py), for a process that never meets
 * the runtime pays nothing then: no relocation is made and no page written. What <kymo/schema.h>
 * says that tools see is made when it is first asked for.
 */
#ifndef BASE_PACKED_H
#define BASE_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include <kymo/schema.h>

/* Texts are named by their offset in the blob; the other numbers are those of <kymo/schema.h>. */
struct packed_domain {
	uint32_t name, title, version;
	uint32_t first_op, op_count;
};

struct packed_op {
	uint32_t name;
	uint32_t first_field; /* from 1 on; 0: none, and none are known */
	uint16_t field_count;
	uint16_t flags;
	int32_t status_ok;
	uint32_t status_set; /* from 1 on; 0: none */
};

struct packed_field {
	uint32_t name, type;
	uint16_t set; /* from 1 on; 0: none */
	uint8_t kind, element, size, flags;
};

struct packed_set {
	uint32_t name;
	uint32_t first_value, value_count;
};

struct packed_value {
	int64_t value;
	uint32_t name;
};

/* Where the rows are: bytes from this structure on. */
struct packed {
	uint32_t text;
	uint32_t domains, domain_count;
	uint32_t ops, op_count;
	uint32_t fields, field_count;
	uint32_t sets, set_count;
	uint32_t values, value_count;
};

/*
 * The description of domain `domain`, with pointers. It is made once, by whoever asks first, and
 * stays for ever. Any thread. NULL: there is no memory, or no such domain.
 */
const kymo_domain_desc_t *packed_describe(const struct packed *p, uint32_t domain);
/* The same for a list of fields by the number of its first one, from 1 on. */
const kymo_field_t *packed_describe_fields(const struct packed *p, uint32_t first);

static inline const void *packed_at(const struct packed *p, uint32_t at)
{
	return (const char *)p + at;
}

static inline const char *packed_text(const struct packed *p, uint32_t at)
{
	return (const char *)p + p->text + at;
}

static inline const struct packed_op *packed_op(const struct packed *p, uint32_t op)
{
	return (const struct packed_op *)packed_at(p, p->ops) + op;
}

#endif
