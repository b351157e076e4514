/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX marks, ranges and synchronisation. */
#include <stdlib.h>
#include <string.h>

#include "core/annotation/map.h"
#include "capture/nvtx/nvtx.h"
#include "core/marker/marker.h"

uint64_t nvtx_act(enum nvtx_action action, const kymo_marker_t *m)
{
	switch (action) {
	case NVTX_MARK:
		kymo_mark_full(m);
		return 0;
	case NVTX_PUSH:
		return (uint64_t)(int64_t)kymo_range_push_full(m);
	case NVTX_START:
		return kymo_range_start_full(m);
	}
	return 0;
}

bool nvtx_plain_value(kymo_payload_t *out, int32_t type, union nvtx_value value)
{
	switch (type) {
	case NVTX_U64:
		*out = kymo_uint64("payload", value.u64);
		return true;
	case NVTX_I64:
		*out = kymo_int64("payload", value.i64);
		return true;
	case NVTX_DOUBLE:
		*out = kymo_double("payload", value.d);
		return true;
	case NVTX_U32:
		*out = kymo_uint64("payload", value.u32);
		return true;
	case NVTX_I32:
		*out = kymo_int64("payload", value.i32);
		return true;
	case NVTX_FLOAT:
		*out = kymo_double("payload", (double)value.f);
		return true;
	default:
		return false;
	}
}

/* Everything of a marker but a name that must be converted and extended payloads. */
static inline void describe_marker(kymo_marker_t *m, kymo_payload_t *payload, struct nvtx_domain *d,
				   const struct nvtx_event *e)
{
	m->domain = &d->name;
	if (e->message_type == NVTX_REGISTERED)
		m->string = (kymo_string_t *)(uintptr_t)e->message;
	else if (e->message_type == NVTX_ASCII)
		m->name = e->message;
	if (e->category)
		m->category = annotation_category(&d->categories, e->category);
	if (e->color_type == NVTX_ARGB)
		m->color = e->color;
	if (e->payload_type && nvtx_plain_value(payload, e->payload_type, e->payload)) {
		m->payload = payload;
		m->payload_count = 1;
	}
}

/* Wide texts and payloads of the extension: what need not be fast and takes much of the stack. */
static __attribute__((noinline)) uint64_t
act_extended(enum nvtx_action action, struct nvtx_domain *d, const struct nvtx_event *e)
{
	kymo_marker_t m = {.size = sizeof(m)};
	struct {
		char scratch[NVTX_SCRATCH];
		struct nvtx_values values;
	} *x = malloc(sizeof(*x)); /* too much for a small stack */
	kymo_payload_t payload;
	uint64_t id;

	describe_marker(&m, &payload, d, e);
	if (x && e->message_type == NVTX_UNICODE)
		m.name = nvtx_text(e->message_type, e->message, x->scratch);
	if (x && e->payload_type == NVTX_PAYLOAD_EXTENDED) {
		nvtx_values_init(&x->values, d);
		nvtx_values_add(&x->values, e->payload.pointer,
				e->payload_count > 0 ? (size_t)e->payload_count : 0);
		m.payload = x->values.values;
		m.payload_count = x->values.count;
		if (!m.name && !m.string)
			m.name = x->values.message;
		if (x->values.category)
			m.category = annotation_category(&d->categories, x->values.category);
		if (x->values.color)
			m.color = x->values.color;
	}
	id = nvtx_act(action, &m);
	free(x);
	return id;
}

/* Older and newer NVTX pass less or more of the structure; no more than is there is read. */
static __attribute__((noinline)) struct nvtx_event event_of(const struct nvtx_event *given)
{
	struct nvtx_event e;
	size_t size = given ? given->size : 0;

	memset(&e, 0, sizeof(e));
	if (size >= 4)
		memcpy(&e, given, size < sizeof(e) ? size : sizeof(e));
	if (size < sizeof(e)) /* half a pointer is none */
		e.message_type = NVTX_MESSAGE_NONE;
	return e;
}

static inline uint64_t act(enum nvtx_action action, void *domain, const struct nvtx_event *given)
{
	struct nvtx_domain *d = nvtx_domain(domain);
	kymo_marker_t m = {.size = sizeof(m)};
	kymo_payload_t payload;
	struct nvtx_event e;

	if (__builtin_expect(!given || given->size < sizeof(e), 0)) {
		e = event_of(given);
		given = &e;
	}
	if (given->message_type == NVTX_UNICODE || given->payload_type == NVTX_PAYLOAD_EXTENDED)
		return act_extended(action, d, given);
	describe_marker(&m, &payload, d, given);
	return nvtx_act(action, &m);
}

static inline uint64_t act_plain(enum nvtx_action action, const char *text)
{
	kymo_marker_t m = {.size = sizeof(m), .name = text, .domain = &nvtx_domain(NULL)->name};

	return nvtx_act(action, &m);
}

static __attribute__((noinline)) uint64_t act_wide(enum nvtx_action action, const wchar_t *text)
{
	char scratch[NVTX_SCRATCH];

	return act_plain(action, annotation_utf8(scratch, sizeof(scratch), text));
}

/* ---- the functions of module CORE ---- */

static void mark_ex(const struct nvtx_event *e)
{
	act(NVTX_MARK, NULL, e);
}

static void mark_a(const char *text)
{
	act_plain(NVTX_MARK, text);
}

static void mark_w(const wchar_t *text)
{
	act_wide(NVTX_MARK, text);
}

static uint64_t start_ex(const struct nvtx_event *e)
{
	return act(NVTX_START, NULL, e);
}

static uint64_t start_a(const char *text)
{
	return act_plain(NVTX_START, text);
}

static uint64_t start_w(const wchar_t *text)
{
	return act_wide(NVTX_START, text);
}

void nvtx_end(uint64_t id)
{
	kymo_range_stop(id);
}

static int push_ex(const struct nvtx_event *e)
{
	return (int)act(NVTX_PUSH, NULL, e);
}

static int push_a(const char *text)
{
	return (int)act_plain(NVTX_PUSH, text);
}

static int push_w(const wchar_t *text)
{
	return (int)act_wide(NVTX_PUSH, text);
}

int nvtx_pop(void *domain)
{
	kymo_string_t *name = &nvtx_domain(domain)->name;

	if (cap_likely(atomic_load_explicit(&marker_state, memory_order_relaxed) ==
		       MARKER_LISTENING))
		return marker_pop(marker_string_id(name));
	return kymo_range_pop_domain(name);
}

static int pop(void)
{
	return nvtx_pop(NULL);
}

/* ---- of module CORE2 ---- */

static void domain_mark(void *domain, const struct nvtx_event *e)
{
	act(NVTX_MARK, domain, e);
}

static uint64_t domain_start(void *domain, const struct nvtx_event *e)
{
	return act(NVTX_START, domain, e);
}

static void domain_end(void *domain, uint64_t id)
{
	kymo_range_stop(id);
}

static int domain_push(void *domain, const struct nvtx_event *e)
{
	return (int)act(NVTX_PUSH, domain, e);
}

static void initialize(const void *reserved)
{
}

/* ---- of module SYNC: waiting for something of the program's own is a range ---- */

struct sync_object {
	struct nvtx_domain *domain;
	kymo_string_t *name;
};

static void *sync_create(void *domain, const struct nvtx_sync *given)
{
	struct sync_object *o = calloc(1, sizeof(*o));
	char scratch[NVTX_SCRATCH];

	if (!o)
		return NULL;
	o->domain = nvtx_domain(domain);
	if (given && given->size >= sizeof(*given))
		o->name = given->message_type == NVTX_REGISTERED
				  ? (kymo_string_t *)(uintptr_t)given->message
				  : annotation_string(nvtx_text(given->message_type, given->message,
								scratch));
	if (!o->name)
		o->name = annotation_string("synchronisation");
	return o;
}

static kymo_marker_t sync_marker(const struct sync_object *o)
{
	return (kymo_marker_t){
		.size = sizeof(kymo_marker_t), .string = o->name, .domain = &o->domain->name};
}

/* Not freed: another thread may still be waiting for it, and they are few. */
static void sync_destroy(const struct sync_object *o)
{
}

static void sync_start(const struct sync_object *o)
{
	kymo_marker_t m;

	if (!o)
		return;
	m = sync_marker(o);
	m.category = annotation_string("acquire");
	annotation_wait_start(o, &m);
}

static void sync_stop(const struct sync_object *o)
{
	annotation_wait_stop(o);
}

static void sync_failed(const struct sync_object *o)
{
	kymo_marker_t m;

	if (!o)
		return;
	sync_stop(o);
	m = sync_marker(o);
	m.category = annotation_string("not acquired");
	kymo_mark_full(&m);
}

static void sync_releasing(const struct sync_object *o)
{
	kymo_marker_t m;

	if (!o)
		return;
	m = sync_marker(o);
	m.category = annotation_string("release");
	kymo_mark_full(&m);
}

/* ---- tables ---- */

#define F(f)     ((nvtx_function)(f))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const nvtx_function core[] = {
	[1] = F(mark_ex), [2] = F(mark_a),  [3] = F(mark_w),   [4] = F(start_ex),
	[5] = F(start_a), [6] = F(start_w), [7] = F(nvtx_end), [8] = F(push_ex),
	[9] = F(push_a),  [10] = F(push_w), [11] = F(pop),
};
static const nvtx_function core2[] = {
	[1] = F(domain_mark), [2] = F(domain_start), [3] = F(domain_end),
	[4] = F(domain_push), [5] = F(nvtx_pop),     [15] = F(initialize),
};
static const nvtx_function sync[] = {
	[1] = F(sync_create), [2] = F(sync_destroy), [3] = F(sync_start),
	[4] = F(sync_failed), [5] = F(sync_stop),    [6] = F(sync_releasing),
};

nvtx_function nvtx_events_function(int module, unsigned id)
{
	if (module == NVTX_CORE)
		return id < COUNT(core) ? core[id] : NULL;
	if (module == NVTX_CORE2)
		return id < COUNT(core2) ? core2[id] : NULL;
	if (module == NVTX_SYNC)
		return id < COUNT(sync) ? sync[id] : NULL;
	return NULL;
}
