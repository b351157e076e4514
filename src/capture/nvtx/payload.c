/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values with names out of the bytes of a payload, by the layout that the program registered. The
 * bytes themselves are the program's and valid during the call; what pointers among them point to is
 * read by the kernel, so that a wrong one does no harm.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/careful.h"
#include "capture/nvtx/nvtx.h"

#define DEPTH_MAX    8u
#define ELEMENTS_MAX 16u /* of an array of numbers: each is a value of its own */

/* Where values are read, and under what name. */
struct place {
	const struct nvtx_layout *layout;
	const uint8_t *data;
	size_t size;
	const char *prefix;
	unsigned depth;
};

void nvtx_values_init(struct nvtx_values *v, const struct nvtx_domain *domain)
{
	memset(v, 0, offsetof(struct nvtx_values, values));
	v->domain = domain;
}

struct nvtx_values *nvtx_values_new(const struct nvtx_domain *domain)
{
	struct nvtx_values *v = malloc(sizeof(*v));

	if (v)
		nvtx_values_init(v, domain);
	return v;
}

/* ---- room ---- */

static char *scratch_take(struct nvtx_values *v, size_t size)
{
	if (size > NVTX_BYTES - v->used)
		return NULL;
	v->used += (uint32_t)size;
	return v->bytes + v->used - size;
}

static __attribute__((format(printf, 2, 3))) const char *scratch_printf(struct nvtx_values *v,
									const char *format, ...)
{
	char text[128], *at;
	va_list ap;
	size_t n;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	n = strlen(text) + 1;
	at = scratch_take(v, n);
	return at ? memcpy(at, text, n) : "";
}

static const char *key_of(struct nvtx_values *v, const struct place *p, const char *name,
			  unsigned index)
{
	if (!*name)
		name = scratch_printf(v, "%u", index);
	return *p->prefix ? scratch_printf(v, "%s.%s", p->prefix, name) : name;
}

static void add_value(struct nvtx_values *v, kymo_payload_t value)
{
	/* One more than there is room for is counted by the marker core as cut. */
	if (v->count < NVTX_VALUES)
		v->values[v->count++] = value;
}

/* ---- the program's pointers ---- */

static const void *pointer_at(const uint8_t *at)
{
	const void *p;

	memcpy(&p, at, sizeof(p));
	return p;
}

/* A terminated text behind a pointer. NULL: there is none. */
static const char *text_behind(struct nvtx_values *v, const void *pointer, size_t width)
{
	char raw[KYMO_PAYLOAD_MAX + 1];
	wchar_t wide[KYMO_PAYLOAD_MAX / 2 + 1];
	size_t n = pointer ? careful_copy(raw, pointer, sizeof(raw)) : 0, count = 0;
	char *at;

	if (width == 1) {
		if (!n)
			return NULL;
		n = strnlen(raw, n);
		at = scratch_take(v, n + 1);
		if (!at)
			return NULL;
		memcpy(at, raw, n);
		at[n] = '\0';
		return at;
	}
	for (size_t i = 0; i + width <= n && count < KYMO_PAYLOAD_MAX / 2; i += width) {
		uint32_t c = 0;

		memcpy(&c, raw + i, width);
		if (!c)
			break;
		wide[count++] = (wchar_t)c;
	}
	wide[count] = 0;
	at = scratch_take(v, 4 * count + 1);
	return at ? annotation_utf8(at, 4 * count + 1, wide) : NULL;
}

/* ---- values ---- */

static uint64_t load_unsigned(const uint8_t *at, size_t size)
{
	uint64_t x = 0;

	memcpy(&x, at, size < 8 ? size : 8);
	return x;
}

static int64_t load_signed(const uint8_t *at, size_t size)
{
	unsigned unused = size < 8 ? 64 - 8 * (unsigned)size : 0;

	return (int64_t)(load_unsigned(at, size) << unused) >> unused;
}

static double half(uint16_t bits)
{
	int exponent = bits >> 10 & 31, mantissa = bits & 1023;
	double x = exponent ? 1024 + mantissa : mantissa;

	if (exponent == 31)
		return mantissa     ? __builtin_nan("")
		       : bits >> 15 ? -__builtin_inf()
				    : __builtin_inf();
	for (int e = exponent ? exponent - 25 : -24; e != 0; e += e < 0 ? 1 : -1)
		x = e < 0 ? x / 2 : x * 2;
	return bits >> 15 ? -x : x;
}

static double load_float(uint64_t type, const uint8_t *at)
{
	union {
		uint32_t u;
		float f;
	} single;
	long double l;
	double d;

	switch (type) {
	case NVTX_T_DOUBLE:
	case NVTX_T_FLOAT64:
		memcpy(&d, at, sizeof(d));
		return d;
	case NVTX_T_LONGDOUBLE:
		memcpy(&l, at, sizeof(l));
		return (double)l;
	case NVTX_T_FLOAT16:
		return half((uint16_t)load_unsigned(at, 2));
	case NVTX_T_BF16:
		single.u = (uint32_t)load_unsigned(at, 2) << 16;
		return (double)single.f;
	default:
		single.u = (uint32_t)load_unsigned(at, 4);
		return (double)single.f;
	}
}

/* The handle may be anything. */
static void put_registered(struct nvtx_values *v, const char *key, const void *handle)
{
	const char *text = NULL;
	kymo_string_t s;

	if (handle && careful_copy(&s, handle, sizeof(s)) == sizeof(s))
		text = text_behind(v, s.text, 1);
	if (text)
		add_value(v, kymo_text(key, text));
}

static void put_scalar(struct nvtx_values *v, const char *key, uint64_t type, const uint8_t *at)
{
	size_t size = nvtx_type_size(type);

	switch (type) {
	case NVTX_T_CHAR:
	case NVTX_T_SHORT:
	case NVTX_T_INT:
	case NVTX_T_LONG:
	case NVTX_T_LONGLONG:
	case NVTX_T_INT8:
	case NVTX_T_INT16:
	case NVTX_T_INT32:
	case NVTX_T_INT64:
		add_value(v, kymo_int64(key, load_signed(at, size)));
		break;
	case NVTX_T_FLOAT:
	case NVTX_T_DOUBLE:
	case NVTX_T_LONGDOUBLE:
	case NVTX_T_FLOAT16:
	case NVTX_T_FLOAT32:
	case NVTX_T_FLOAT64:
	case NVTX_T_BF16:
	case NVTX_T_TF32:
		add_value(v, kymo_double(key, load_float(type, at)));
		break;
	case NVTX_T_INT128:
	case NVTX_T_UINT128:
	case NVTX_T_FLOAT128:
		add_value(v, kymo_bytes(key, at, 16));
		break;
	case NVTX_T_REGISTERED:
		put_registered(v, key, pointer_at(at));
		break;
	case NVTX_T_CATEGORY:
		v->category = (uint32_t)load_unsigned(at, 4);
		break;
	case NVTX_T_COLOR:
		v->color = (uint32_t)load_unsigned(at, 4);
		break;
	default:
		add_value(v, kymo_uint64(key, load_unsigned(at, size)));
	}
}

/* The member's name, or the names of the flags that are set. */
static void put_enum(struct nvtx_values *v, const char *key, const struct nvtx_layout *l,
		     const uint8_t *at)
{
	uint64_t value = load_unsigned(at, l->size), left = value;
	char text[KYMO_PAYLOAD_MAX] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < l->members && n < sizeof(text); i++) {
		const struct nvtx_member *m = &l->member[i];

		if (!m->flag && m->value == value) {
			add_value(v, kymo_text(key, m->name));
			return;
		}
		if (!m->flag || !m->value || (left & m->value) != m->value)
			continue;
		left &= ~m->value;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? "|" : "", m->name);
	}
	if (n == 0 || left)
		add_value(v, kymo_uint64(key, value));
	else
		add_value(v, kymo_text(key, scratch_printf(v, "%s", text)));
}

/* ---- texts ---- */

static size_t text_width(uint64_t type)
{
	switch (type) {
	case NVTX_T_CSTRING:
	case NVTX_T_CSTRING_UTF8:
		return 1;
	case NVTX_T_CSTRING_UTF16:
		return 2;
	case NVTX_T_CSTRING_UTF32:
		return 4;
	default:
		return 0;
	}
}

static void put_text(struct nvtx_values *v, const struct nvtx_field *f, const char *key,
		     const char *text, size_t length)
{
	kymo_payload_t p = kymo_text(key, text);

	if (!text)
		return;
	if (f->flags & NVTX_ENTRY_MESSAGE) {
		v->message = text;
		return;
	}
	p.length = length;
	add_value(v, p);
}

/* Wide characters that lie in the payload, as UTF-8. */
static const char *wide_inside(struct nvtx_values *v, const uint8_t *at, size_t count, size_t width)
{
	wchar_t text[KYMO_PAYLOAD_MAX + 1];
	size_t n = count < KYMO_PAYLOAD_MAX ? count : KYMO_PAYLOAD_MAX;
	char *out = scratch_take(v, 4 * n + 1);

	for (size_t i = 0; i < n; i++)
		text[i] = (wchar_t)load_unsigned(at + i * width, width);
	text[n] = 0;
	return out ? annotation_utf8(out, 4 * n + 1, text) : NULL;
}

static void text_inside(struct nvtx_values *v, const struct nvtx_field *f, const char *key,
			const uint8_t *at, size_t count, size_t width)
{
	const char *text;
	char *copy;

	if (width == 1) {
		size_t n = strnlen((const char *)at, count);

		copy = f->flags & NVTX_ENTRY_MESSAGE ? scratch_take(v, n + 1) : NULL;
		if (copy) {
			memcpy(copy, at, n);
			copy[n] = '\0';
		}
		put_text(v, f, key, copy ? copy : (const char *)at, n);
		return;
	}
	text = wide_inside(v, at, count, width);
	put_text(v, f, key, text, text ? strlen(text) : 0);
}

/* ---- fields ---- */

static void put_layout(struct nvtx_values *v, const struct place *p);

/* What a field's element is. */
struct element {
	const struct nvtx_layout *layout; /* of nested ones and enumerations */
	size_t size, align;
	size_t width; /* of a character; 0: no text */
};

static size_t natural_align(const struct nvtx_layout *l, const struct nvtx_domain *domain,
			    unsigned depth)
{
	size_t align = 1;

	for (uint32_t i = 0; i < l->fields && depth < DEPTH_MAX; i++) {
		const struct nvtx_layout *inner;
		size_t a = nvtx_type_size(l->field[i].type);

		if (l->field[i].type >= NVTX_ID_STATIC) {
			inner = nvtx_layout_find(domain, l->field[i].type);
			a = !inner           ? 1
			    : inner->members ? inner->size
					     : natural_align(inner, domain, depth + 1);
		}
		if (l->field[i].flags & NVTX_ENTRY_POINTER)
			a = sizeof(void *);
		align = a > align ? a : align;
	}
	return align;
}

static struct element element_of(const struct nvtx_values *v, const struct nvtx_field *f)
{
	struct element e = {.width = text_width(f->type)};

	if (e.width) {
		bool inside = f->detail || (f->flags & NVTX_ENTRY_ARRAY);

		e.size = inside ? e.width : sizeof(void *);
		e.align = e.size;
	} else if (f->type >= NVTX_ID_STATIC) {
		e.layout = nvtx_layout_find(v->domain, f->type);
		e.size = e.layout ? e.layout->size : 0;
		e.align = !e.layout           ? 1
			  : e.layout->members ? e.layout->size
					      : natural_align(e.layout, v->domain, 0);
	} else {
		e.size = e.align = nvtx_type_size(f->type);
	}
	if (f->flags & NVTX_ENTRY_POINTER)
		e.align = sizeof(void *);
	e.align = e.align && (e.align & (e.align - 1)) == 0 && e.align <= 16 ? e.align : 1;
	return e;
}

static void put_elements(struct nvtx_values *v, const struct place *p, const struct nvtx_field *f,
			 const struct element *e, const char *key, const uint8_t *at, size_t count)
{
	bool array = (f->flags & NVTX_ENTRY_ARRAY) != 0;

	if (e->width) {
		text_inside(v, f, key, at, count, e->width);
		return;
	}
	if (array && (f->type == NVTX_T_BYTE || f->type == NVTX_T_CHAR || f->type == NVTX_T_UCHAR ||
		      f->type == NVTX_T_CHAR8)) {
		if (f->type == NVTX_T_BYTE || f->type == NVTX_T_UCHAR)
			add_value(v, kymo_bytes(key, at, count));
		else
			text_inside(v, f, key, at, count, 1);
		return;
	}
	for (size_t i = 0; i < count && i < ELEMENTS_MAX; i++) {
		const char *name = array ? scratch_printf(v, "%s[%zu]", key, i) : key;
		struct place inner = {e->layout, at + i * e->size, e->size, name, p->depth + 1};

		if (e->layout && e->layout->members)
			put_enum(v, name, e->layout, inner.data);
		else if (e->layout)
			put_layout(v, &inner);
		else
			put_scalar(v, name, f->type, inner.data);
	}
	if (count > ELEMENTS_MAX)
		add_value(v, kymo_uint64(scratch_printf(v, "%s.count", key), count));
}

/* Bytes that may be read at `pointer`: it lies in a payload of the event. 0: it does not. */
static size_t inside_event(const struct nvtx_values *v, const void *pointer)
{
	for (size_t i = 0; i < v->blob_count; i++) {
		uintptr_t begin = (uintptr_t)v->blobs[i].data;
		uintptr_t offset = (uintptr_t)pointer - begin;

		if (begin && v->blobs[i].size != SIZE_MAX && offset < v->blobs[i].size)
			return v->blobs[i].size - offset;
	}
	return 0;
}

/* The field is a pointer to what its type says. */
static void put_pointed(struct nvtx_values *v, const struct place *p, const struct nvtx_field *f,
			const struct element *e, const char *key, const uint8_t *at, size_t count)
{
	const void *pointer = pointer_at(at);
	size_t room = inside_event(v, pointer);
	const char *text = e->width ? text_behind(v, pointer, e->width) : NULL;
	char *copy;

	if (text) {
		put_text(v, f, key, text, strlen(text));
		return;
	}
	if (!e->width && e->size && room >= count * e->size) {
		put_elements(v, p, f, e, key, pointer, count);
		return;
	}
	copy = !e->width && f->flags & NVTX_ENTRY_DEEP_COPY && count <= NVTX_BYTES / 16
		       ? scratch_take(v, count * e->size)
		       : NULL;
	if (copy && careful_copy(copy, pointer, count * e->size) == count * e->size)
		put_elements(v, p, f, e, key, (const uint8_t *)copy, count);
	else
		add_value(v, kymo_uint64(key, (uint64_t)(uintptr_t)pointer));
}

/* Number of elements of a field; `ends` has the fields before it. */
static size_t count_of(const struct place *p, const struct nvtx_field *f, const struct element *e,
		       const size_t *offsets, size_t index, size_t at)
{
	size_t n = 0, i = (size_t)f->detail, size;

	switch (f->flags & NVTX_ENTRY_ARRAY) {
	case NVTX_ENTRY_FIXED:
		return (size_t)f->detail;
	case NVTX_ENTRY_LENGTH:
		if (i >= index)
			return 0;
		size = nvtx_type_size(p->layout->field[i].type);
		return size && size <= 8 ? (size_t)load_unsigned(p->data + offsets[i], size) : 0;
	case NVTX_ENTRY_TERMINATED:
		while (e->size && e->size <= 8 && at + (n + 1) * e->size <= p->size &&
		       load_unsigned(p->data + at + n * e->size, e->size))
			n++;
		return n;
	default:
		return e->width && f->detail ? (size_t)f->detail : 1;
	}
}

static const struct nvtx_field *union_member(const struct place *p, const struct nvtx_field *f,
					     const struct element *e, const size_t *offsets,
					     size_t index)
{
	size_t i = (size_t)f->detail, size;
	uint64_t chosen;

	if (!e->layout || e->layout->type != NVTX_UNION || i >= index)
		return NULL;
	size = nvtx_type_size(p->layout->field[i].type);
	chosen = size && size <= 8 ? load_unsigned(p->data + offsets[i], size) : UINT64_MAX;
	return chosen < e->layout->fields ? &e->layout->field[chosen] : NULL;
}

/* A time of the event itself. False: it is a value like others. */
static bool take_time(struct nvtx_values *v, const struct nvtx_field *f, const struct element *e,
		      const uint8_t *at)
{
	uint64_t what = f->flags & NVTX_ENTRY_EVENT, time;

	if (!v->timed || e->layout || e->width || !e->size || e->size > 8 ||
	    what > NVTX_ENTRY_MARK || (!what && !(f->flags & NVTX_ENTRY_TIME)))
		return false;
	time = load_unsigned(at, e->size);
	if (what != NVTX_ENTRY_END) {
		v->begin = time;
		v->has_begin = true;
	} else {
		v->end = time;
		v->has_end = true;
	}
	if (f->time_domain)
		v->time_domain = f->time_domain;
	return true;
}

static bool put_field(struct nvtx_values *v, const struct place *p, size_t index, size_t *end,
		      size_t *offsets)
{
	const struct nvtx_field *f = &p->layout->field[index], *member;
	struct element e = element_of(v, f);
	const bool pointer = (f->flags & NVTX_ENTRY_POINTER) ||
			     (e.width && !f->detail && !(f->flags & NVTX_ENTRY_ARRAY));
	size_t at =
		f->offset || index == 0 ? (size_t)f->offset : (*end + e.align - 1) & ~(e.align - 1);
	size_t count, bytes;
	const char *key;

	if (at > p->size || (!pointer && !e.size))
		return false;
	offsets[index] = at;
	count = count_of(p, f, &e, offsets, index, at);
	if (pointer)
		bytes = sizeof(void *);
	else if (__builtin_mul_overflow(count, e.size, &bytes))
		return false;
	if (bytes > p->size - at)
		return false;
	*end = at + bytes;
	if ((f->flags & NVTX_ENTRY_ARRAY) == NVTX_ENTRY_TERMINATED && !pointer)
		*end += e.size;
	if (f->flags & (NVTX_ENTRY_HIDDEN | NVTX_ENTRY_FROM_BASE | NVTX_ENTRY_FROM_HERE))
		return true;
	if (!pointer && take_time(v, f, &e, p->data + at))
		return true;
	key = key_of(v, p, f->name, (unsigned)index);
	member = union_member(p, f, &e, offsets, index);
	if (member) {
		struct element inner = element_of(v, member);

		if (inner.size && inner.size <= bytes)
			put_elements(v, p, member, &inner, key, p->data + at, 1);
	} else if (pointer) {
		put_pointed(v, p, f, &e, key, p->data + at, count);
	} else {
		put_elements(v, p, f, &e, key, p->data + at, count);
	}
	return true;
}

static void put_layout(struct nvtx_values *v, const struct place *p)
{
	size_t offsets[NVTX_VALUES] = {0}, end = 0;
	uint32_t n = p->layout->fields < NVTX_VALUES ? p->layout->fields : NVTX_VALUES;

	if (p->depth > DEPTH_MAX)
		return;
	if (p->layout->type == NVTX_UNION || p->layout->type == NVTX_UNION_SELECTING) {
		add_value(v,
			  kymo_bytes(*p->prefix ? p->prefix : p->layout->name, p->data, p->size));
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!put_field(v, p, i, &end, offsets))
			break;
}

/* ---- whole payloads ---- */

static void put_predefined(struct nvtx_values *v, const struct nvtx_blob *b, const char *key)
{
	const struct nvtx_field f = {.type = b->schema, .name = key, .detail = b->size};
	size_t size = nvtx_type_size(b->schema), width = text_width(b->schema);
	bool sized = b->size != SIZE_MAX;
	const char *text;

	if (b->schema == NVTX_T_REFERENCED)
		return;
	if (width && sized) {
		text_inside(v, &f, key, b->data, b->size / width, width);
	} else if (width) {
		text = text_behind(v, b->data, width);
		put_text(v, &f, key, text, text ? strlen(text) : 0);
	} else if (size && (!sized || b->size >= size)) {
		put_scalar(v, key, b->schema, b->data);
	} else if (sized) {
		add_value(v, kymo_bytes(key, b->data, b->size));
	}
}

static void put_blob(struct nvtx_values *v, const struct nvtx_blob *b, bool several)
{
	const struct nvtx_layout *l = nvtx_layout_find(v->domain, b->schema);
	struct place p = {l, b->data, b->size, "", 0};

	if (!b->data)
		return;
	if (!l) {
		put_predefined(v, b, "payload");
		return;
	}
	if (p.size == SIZE_MAX)
		p.size = l->size;
	if (several)
		p.prefix = l->name;
	if (l->members) {
		if (p.size >= l->size)
			put_enum(v, *l->name ? l->name : "payload", l, p.data);
	} else {
		put_layout(v, &p);
	}
}

void nvtx_values_add(struct nvtx_values *v, const struct nvtx_blob *blobs, size_t count)
{
	if (!blobs)
		return;
	v->blobs = blobs;
	v->blob_count = count < NVTX_VALUES ? count : NVTX_VALUES;
	for (size_t i = 0; i < v->blob_count; i++)
		put_blob(v, &blobs[i], v->blob_count > 1);
}
