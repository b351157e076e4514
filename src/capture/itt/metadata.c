/* SPDX-License-Identifier: Apache-2.0 */
/* ITT metadata: values of the task they are said in. Those of others, by id, are marks. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "capture/itt/itt.h"

#define VALUES 16u /* of one array */

static size_t type_size(int type)
{
	static const uint8_t sizes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};

	return type > 0 && (size_t)type < sizeof(sizes) ? sizes[type] : 0;
}

bool itt_value(kymo_payload_t *out, const char *key, int type, const void *data, size_t i)
{
	const char *at = data ? (const char *)data + i * type_size(type) : NULL;
	union {
		uint64_t u64;
		int64_t s64;
		uint32_t u32;
		int32_t s32;
		uint16_t u16;
		int16_t s16;
		float f;
		double d;
	} v = {0};

	if (!at || !type_size(type))
		return false;
	memcpy(&v, at, type_size(type));
	switch (type) {
	case ITT_S64:
		*out = kymo_int64(key, v.s64);
		break;
	case ITT_U32:
		*out = kymo_uint64(key, v.u32);
		break;
	case ITT_S32:
		*out = kymo_int64(key, v.s32);
		break;
	case ITT_U16:
		*out = kymo_uint64(key, v.u16);
		break;
	case ITT_S16:
		*out = kymo_int64(key, v.s16);
		break;
	case ITT_FLOAT:
		*out = kymo_double(key, (double)v.f);
		break;
	case ITT_DOUBLE:
		*out = kymo_double(key, v.d);
		break;
	default:
		*out = kymo_uint64(key, v.u64);
	}
	return true;
}

static bool is_none(struct itt_id id)
{
	return !id.d1 && !id.d2 && !id.d3;
}

static const char *id_text(char text[48], struct itt_id id)
{
	snprintf(text, 48, "%#llx:%llu", id.d1, id.d2);
	return text;
}

/* `current`: of the task that is innermost on the thread. */
static void add_metadata(const struct itt_domain *domain, bool current, struct itt_id id,
			 const kymo_payload_t *values, uint32_t count)
{
	kymo_payload_t all[VALUES + 1];
	kymo_marker_t m;
	char text[48];

	if (current) {
		kymo_range_add(values, count);
		return;
	}
	memcpy(all, values, count * sizeof(*values));
	if (!is_none(id))
		all[count++] = kymo_text("id", id_text(text, id));
	m = itt_marker(domain, NULL);
	m.name = values[0].key;
	m.category = annotation_string("metadata");
	m.payload = all;
	m.payload_count = count;
	kymo_mark_full(&m);
}

static void add_values(const struct itt_domain *domain, bool current, struct itt_id id,
		       const struct itt_string *key, int type, size_t count, const void *data)
{
	char names[VALUES][80];
	kymo_payload_t p[VALUES];
	uint32_t n = 0;

	if (!key || !key->text || !data)
		return;
	for (size_t i = 0; i < count && n < VALUES; i++) {
		snprintf(names[n], sizeof(names[n]), count > 1 ? "%.50s[%zu]" : "%.63s", key->text,
			 i);
		n += itt_value(&p[n], names[n], type, data, i);
	}
	if (n)
		add_metadata(domain, current, id, p, n);
}

static void add_text(const struct itt_domain *domain, bool current, struct itt_id id,
		     const struct itt_string *key, const char *data, size_t length)
{
	kymo_payload_t p;

	if (!key || !key->text || !data)
		return;
	p = kymo_text(key->text, data);
	p.length = strnlen(data, length ? length : KYMO_PAYLOAD_MAX + 1);
	if (p.length)
		add_metadata(domain, current, id, &p, 1);
}

static void metadata_add(const struct itt_domain *domain, struct itt_id id,
			 const struct itt_string *key, int type, size_t count, void *data)
{
	add_values(domain, is_none(id), id, key, type, count, data);
}

/* As oneTBB names the nodes of its graphs. */
static void name_by(struct itt_id id, const struct itt_string *key, const char *data, size_t length)
{
	char text[KYMO_STRING_MAX];

	if (!key || !key->text || !data || strcmp(key->text, "object_name") != 0)
		return;
	length = length && length < sizeof(text) ? length : sizeof(text) - 1;
	snprintf(text, sizeof(text), "%.*s", (int)length, data);
	itt_id_name(id, annotation_string(text));
}

static void metadata_str_add(const struct itt_domain *domain, struct itt_id id,
			     const struct itt_string *key, const char *data, size_t length)
{
	name_by(id, key, data, length);
	add_text(domain, is_none(id), id, key, data, length);
}

enum { SCOPE_TASK = 4 };

static void metadata_add_scope(const struct itt_domain *domain, int scope,
			       const struct itt_string *key, int type, size_t count, void *data)
{
	add_values(domain, scope == SCOPE_TASK, (struct itt_id){0, 0, 0}, key, type, count, data);
}

static void metadata_str_add_scope(const struct itt_domain *domain, int scope,
				   const struct itt_string *key, const char *data, size_t length)
{
	add_text(domain, scope == SCOPE_TASK, (struct itt_id){0, 0, 0}, key, data, length);
}

/* The format is the program's own; what would write through it is not followed. */
static void add_format(const struct itt_domain *domain, bool current, struct itt_id id,
		       const struct itt_string *format, va_list ap)
{
	char text[KYMO_PAYLOAD_MAX] = "";
	kymo_payload_t p = kymo_text("metadata", text);

	if (!format || !format->text || strstr(format->text, "%n"))
		return;
	vsnprintf(text, sizeof(text), format->text, ap);
	if (*text)
		add_metadata(domain, current, id, &p, 1);
}

static void formatted(const struct itt_domain *domain, const struct itt_string *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add_format(domain, true, (struct itt_id){0, 0, 0}, format, ap);
	va_end(ap);
}

static void formatted_overlapped(const struct itt_domain *domain, struct itt_id id,
				 const struct itt_string *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add_format(domain, false, id, format, ap);
	va_end(ap);
}

/* ---- relations ---- */

static void relation(const struct itt_domain *domain, struct itt_id head, int relation,
		     struct itt_id tail)
{
	static const char names[][20] = {"relation",        "is dependent on",    "is sibling of",
					 "is parent of",    "is continuation of", "is child of",
					 "is continued by", "is predecessor to"};
	char to[48], from[48];
	kymo_payload_t p[] = {kymo_text("to", id_text(to, tail)),
			      kymo_text("from", id_text(from, head))};
	kymo_marker_t m = itt_marker(domain, NULL);

	m.name = names[relation > 0 && relation < 8 ? relation : 0];
	m.category = annotation_string("relation");
	m.payload = p;
	m.payload_count = is_none(head) ? 1 : 2;
	kymo_mark_full(&m);
}

static void relation_to_current(const struct itt_domain *domain, int what, struct itt_id tail)
{
	relation(domain, (struct itt_id){0, 0, 0}, what, tail);
}

static void relation_ex(const struct itt_domain *domain, struct itt_clock *clock,
			unsigned long long time, struct itt_id head, int what, struct itt_id tail)
{
	relation(domain, head, what, tail);
}

static void relation_to_current_ex(const struct itt_domain *domain, struct itt_clock *clock,
				   unsigned long long time, int what, struct itt_id tail)
{
	relation_to_current(domain, what, tail);
}

void itt_metadata_functions(itt_tell *tell, void *data)
{
	ITT_FUNCTION("metadata_add", metadata_add);
	ITT_FUNCTION("metadata_str_add", metadata_str_add);
	ITT_FUNCTION("metadata_add_with_scope", metadata_add_scope);
	ITT_FUNCTION("metadata_str_add_with_scope", metadata_str_add_scope);
	ITT_FUNCTION("formatted_metadata_add", formatted);
	ITT_FUNCTION("formatted_metadata_add_overlapped", formatted_overlapped);
	ITT_FUNCTION("relation_add", relation);
	ITT_FUNCTION("relation_add_to_current", relation_to_current);
	ITT_FUNCTION("relation_add_ex", relation_ex);
	ITT_FUNCTION("relation_add_to_current_ex", relation_to_current_ex);
}
