/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of NVTX payloads: copied when they are registered, for the program may free its own. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture/nvtx/nvtx.h"

#define BUCKETS 256u

static struct nvtx_layout *_Atomic layouts[BUCKETS]; /* prepended to: the latest is found first */

uint64_t nvtx_new_id(void)
{
	static _Atomic uint64_t last = NVTX_ID_DYNAMIC;

	return atomic_fetch_add(&last, 1) + 1;
}

static const char *keep_text(const char *text)
{
	kymo_string_t *s = annotation_string(text);

	return s ? s->text : "";
}

static struct nvtx_layout *new_layout(void *domain, size_t fields, size_t members)
{
	size_t size = sizeof(struct nvtx_layout) + fields * sizeof(struct nvtx_field) +
		      members * sizeof(struct nvtx_member);
	int saved = errno;
	struct nvtx_layout *l = calloc(1, size);

	errno = saved;
	if (!l)
		return NULL;
	l->domain = nvtx_domain(domain);
	l->fields = (uint32_t)fields;
	l->members = (uint32_t)members;
	l->field = (struct nvtx_field *)(l + 1);
	l->member = (struct nvtx_member *)(l->field + fields);
	return l;
}

static uint64_t publish_layout(struct nvtx_layout *l, uint64_t given)
{
	struct nvtx_layout *_Atomic *bucket;

	l->id = given >= NVTX_ID_STATIC ? given : nvtx_new_id();
	bucket = &layouts[l->id % BUCKETS];
	l->next = atomic_load(bucket);
	while (!atomic_compare_exchange_weak(bucket, &l->next, l))
		;
	return l->id;
}

/* Ids that the program chose are its domain's; those given here are unique. */
const struct nvtx_layout *nvtx_layout_find(const struct nvtx_domain *domain, uint64_t id)
{
	const struct nvtx_layout *l = atomic_load(&layouts[id % BUCKETS]);

	while (l && (l->id != id || (id < NVTX_ID_DYNAMIC && l->domain != domain)))
		l = l->next;
	return l;
}

uint64_t nvtx_schema_register(void *domain, const struct nvtx_schema *s)
{
	struct nvtx_layout *l;
	size_t count;

	if (!s || !(s->mask & NVTX_SCHEMA_ENTRIES) || !s->entries || !(s->mask & NVTX_SCHEMA_COUNT))
		return 0;
	count = s->count < NVTX_ENTRIES_MAX ? s->count : NVTX_ENTRIES_MAX;
	l = new_layout(domain, count, 0);
	if (!l)
		return 0;
	for (size_t i = 0; i < count; i++)
		l->field[i] = (struct nvtx_field){s->entries[i].flags,
						  s->entries[i].type,
						  s->entries[i].detail,
						  s->entries[i].offset,
						  nvtx_time_semantics(s->entries[i].semantics),
						  keep_text(s->entries[i].name)};
	l->name = s->mask & NVTX_SCHEMA_NAME ? keep_text(s->name) : "";
	l->type = s->mask & NVTX_SCHEMA_TYPE ? s->type : NVTX_STATIC;
	l->size = s->mask & NVTX_SCHEMA_SIZE ? s->static_size : 0;
	return publish_layout(l, s->mask & NVTX_SCHEMA_ID ? s->id : 0);
}

uint64_t nvtx_enum_register(void *domain, const struct nvtx_enum *e)
{
	struct nvtx_layout *l;
	size_t count;

	if (!e || !(e->mask & NVTX_ENUM_VALUES) || !e->values || !(e->mask & NVTX_ENUM_COUNT))
		return 0;
	count = e->count < NVTX_ENTRIES_MAX ? e->count : NVTX_ENTRIES_MAX;
	l = new_layout(domain, 0, count);
	if (!l)
		return 0;
	for (size_t i = 0; i < count; i++)
		l->member[i] = (struct nvtx_member){keep_text(e->values[i].name),
						    e->values[i].value, e->values[i].is_flag != 0};
	l->name = e->mask & NVTX_ENUM_NAME ? keep_text(e->name) : "";
	l->size = e->mask & NVTX_ENUM_SIZE ? e->size : sizeof(int);
	return publish_layout(l, e->mask & NVTX_ENUM_ID ? e->id : 0);
}

size_t nvtx_type_size(uint64_t type)
{
	static const uint8_t sizes[] = {
		[NVTX_T_CHAR] = 1,
		[NVTX_T_UCHAR] = 1,
		[NVTX_T_SHORT] = sizeof(short),
		[NVTX_T_USHORT] = sizeof(short),
		[NVTX_T_INT] = sizeof(int),
		[NVTX_T_UINT] = sizeof(int),
		[NVTX_T_LONG] = sizeof(long),
		[NVTX_T_ULONG] = sizeof(long),
		[NVTX_T_LONGLONG] = 8,
		[NVTX_T_ULONGLONG] = 8,
		[NVTX_T_INT8] = 1,
		[NVTX_T_UINT8] = 1,
		[NVTX_T_INT16] = 2,
		[NVTX_T_UINT16] = 2,
		[NVTX_T_INT32] = 4,
		[NVTX_T_UINT32] = 4,
		[NVTX_T_INT64] = 8,
		[NVTX_T_UINT64] = 8,
		[NVTX_T_FLOAT] = 4,
		[NVTX_T_DOUBLE] = 8,
		[NVTX_T_LONGDOUBLE] = sizeof(long double),
		[NVTX_T_SIZE] = sizeof(size_t),
		[NVTX_T_ADDRESS] = sizeof(void *),
		[NVTX_T_WCHAR] = sizeof(wchar_t),
		[NVTX_T_CHAR8] = 1,
		[NVTX_T_CHAR16] = 2,
		[NVTX_T_CHAR32] = 4,
		[NVTX_T_BYTE] = 1,
		[NVTX_T_INT128] = 16,
		[NVTX_T_UINT128] = 16,
		[NVTX_T_FLOAT16] = 2,
		[NVTX_T_FLOAT32] = 4,
		[NVTX_T_FLOAT64] = 8,
		[NVTX_T_FLOAT128] = 16,
		[NVTX_T_BF16] = 2,
		[NVTX_T_TF32] = 4,
		[NVTX_T_CATEGORY] = 4,
		[NVTX_T_COLOR] = 4,
		[NVTX_T_SCOPE] = 8,
		[NVTX_T_PID32] = 4,
		[NVTX_T_PID64] = 8,
		[NVTX_T_TID32] = 4,
		[NVTX_T_TID64] = 8,
		[NVTX_T_REGISTERED] = sizeof(void *),
	};

	return type < sizeof(sizes) ? sizes[type] : 0;
}
