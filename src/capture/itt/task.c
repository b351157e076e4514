/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ITT tasks, regions, frames, markers, events and marks. Tasks nest on their thread and are scopes;
 * what is closed by an id, maybe by another thread, is a range that any thread may stop.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/itt/itt.h"
#include "core/marker/marker.h"

typedef const struct itt_domain *domain_t;
typedef const struct itt_string *name_t;

/* Without a name, what it is or belongs to is called, and otherwise what kind it is of. */
static kymo_marker_t named_by(domain_t domain, struct itt_id id, struct itt_id parent, name_t name,
			      const char *kind)
{
	kymo_marker_t m = itt_marker(domain, name);

	if (cap_unlikely(!m.string)) {
		m.string = itt_name_of_id(id);
		m.string = m.string ? m.string : itt_name_of_id(parent);
		m.string = m.string ? m.string : annotation_string(kind);
	}
	return m;
}

/* ---- tasks ---- */

static void task_begin(domain_t domain, struct itt_id id, struct itt_id parent, name_t name)
{
	kymo_marker_t m = named_by(domain, id, parent, name, "task");

	kymo_range_push_full(&m);
}

static void task_begin_fn(domain_t domain, struct itt_id id, struct itt_id parent, void *function)
{
	kymo_marker_t m = itt_marker(domain, NULL);
	char text[32];
	Dl_info info;

	if (dladdr(function, &info) && info.dli_sname) {
		m.name = info.dli_sname;
	} else {
		snprintf(text, sizeof(text), "%p", function);
		m.name = text;
	}
	kymo_range_push_full(&m);
}

static void task_end(domain_t domain)
{
	kymo_string_t *name = itt_domain_name(domain);

	if (cap_likely(atomic_load_explicit(&marker_state, memory_order_relaxed) ==
		       MARKER_LISTENING))
		marker_pop(marker_string_id(name));
	else
		kymo_range_pop_domain(name);
}

/* Times of the program's own clocks are values; the range itself is timed by us. */
static void add_time(struct itt_clock *clock, unsigned long long time, const char *key)
{
	kymo_payload_t p = kymo_uint64(key, time);

	if (clock || time)
		kymo_range_add(&p, 1);
}

static void task_begin_ex(domain_t domain, struct itt_clock *clock, unsigned long long time,
			  struct itt_id id, struct itt_id parent, name_t name)
{
	task_begin(domain, id, parent, name);
	add_time(clock, time, "begin");
}

static void task_begin_fn_ex(domain_t domain, struct itt_clock *clock, unsigned long long time,
			     struct itt_id id, struct itt_id parent, void *function)
{
	task_begin_fn(domain, id, parent, function);
	add_time(clock, time, "begin");
}

static void task_end_ex(domain_t domain, struct itt_clock *clock, unsigned long long time)
{
	add_time(clock, time, "end");
	task_end(domain);
}

/* ---- what is closed by an id ---- */

static void open_by(enum itt_key kind, domain_t domain, struct itt_id id, const kymo_marker_t *m)
{
	/* One word holds the kind and the domain: addresses leave the top free. */
	struct annotation_key key = {
		{(uint64_t)kind << 56 | (uintptr_t)domain, id.d1, id.d2, id.d3}};
	uint64_t range = kymo_range_start_full(m);

	if (range && !annotation_open(&key, range))
		kymo_range_stop(range);
}

static void close_by(enum itt_key kind, domain_t domain, struct itt_id id)
{
	struct annotation_key key = {
		{(uint64_t)kind << 56 | (uintptr_t)domain, id.d1, id.d2, id.d3}};
	uint64_t range;

	/* What was never opened is counted by the marker core, as it counts its own. */
	kymo_range_stop(annotation_close(&key, &range) ? range : UINT64_MAX);
}

static void open_named(enum itt_key kind, domain_t domain, struct itt_id id, struct itt_id parent,
		       name_t name, const char *category)
{
	kymo_marker_t m = named_by(domain, id, parent, name, category);

	m.category = annotation_string(category);
	open_by(kind, domain, id, &m);
}

static void task_begin_overlapped(domain_t domain, struct itt_id id, struct itt_id parent,
				  name_t name)
{
	open_named(ITT_KEY_TASK, domain, id, parent, name, "task");
}

static void task_begin_overlapped_ex(domain_t domain, struct itt_clock *clock,
				     unsigned long long time, struct itt_id id,
				     struct itt_id parent, name_t name)
{
	open_named(ITT_KEY_TASK, domain, id, parent, name, "task");
}

static void task_end_overlapped(domain_t domain, struct itt_id id)
{
	close_by(ITT_KEY_TASK, domain, id);
}

static void task_end_overlapped_ex(domain_t domain, struct itt_clock *clock,
				   unsigned long long time, struct itt_id id)
{
	close_by(ITT_KEY_TASK, domain, id);
}

static void region_begin(domain_t domain, struct itt_id id, struct itt_id parent, name_t name)
{
	open_named(ITT_KEY_REGION, domain, id, parent, name, "region");
}

static void region_end(domain_t domain, struct itt_id id)
{
	close_by(ITT_KEY_REGION, domain, id);
}

static struct itt_id id_at(const struct itt_id *id)
{
	return id ? *id : (struct itt_id){0, 0, 0};
}

/* A frame has no name but its domain's. */
static void frame_begin(domain_t domain, const struct itt_id *id)
{
	kymo_marker_t m = itt_marker(domain, NULL);

	m.string = m.domain;
	m.category = annotation_string("frame");
	open_by(ITT_KEY_FRAME, domain, id_at(id), &m);
}

static void frame_end(domain_t domain, const struct itt_id *id)
{
	close_by(ITT_KEY_FRAME, domain, id_at(id));
}

/* A frame that is over already, with times of get_timestamp(). */
static void frame_submit(domain_t domain, const struct itt_id *id, unsigned long long begin,
			 unsigned long long end)
{
	kymo_marker_t m = itt_marker(domain, NULL);

	m.string = m.domain;
	m.category = annotation_string("frame");
	marker_submit(&m, (kymo_clock_t){0}, begin, end == ITT_NO_TIME ? kymo_time() : end);
}

/* ---- markers ---- */

static void marker(domain_t domain, struct itt_id id, name_t name, int scope)
{
	static const char scopes[][16] = {"marker",        "global marker", "process marker",
					  "thread marker", "task marker",   "marker"};
	kymo_marker_t m = itt_marker(domain, name);

	m.category = annotation_string(scope >= 0 && scope < 6 ? scopes[scope] : "marker");
	kymo_mark_full(&m);
}

static void marker_ex(domain_t domain, struct itt_clock *clock, unsigned long long time,
		      struct itt_id id, name_t name, int scope)
{
	marker(domain, id, name, scope);
}

static void task_group(domain_t domain, struct itt_id id, struct itt_id parent, name_t name)
{
	kymo_marker_t m = named_by(domain, id, parent, name, "task group");

	itt_id_name(id, m.string);
	m.category = annotation_string("task group");
	kymo_mark_full(&m);
}

/* ---- events and marks: numbered names without a domain ---- */

#define NUMBERS 4096u
static kymo_string_t *_Atomic names[NUMBERS];
static _Atomic uint32_t names_used;

static kymo_string_t *named(int number)
{
	return number > 0 && (uint32_t)number < NUMBERS ? atomic_load(&names[number]) : NULL;
}

/* The number of a name, from 1; 0: there are too many. */
static int number_of(const char *name)
{
	kymo_string_t *s = annotation_string(name);
	uint32_t n = atomic_load(&names_used), i;

	for (i = 1; s && i <= n && i < NUMBERS; i++)
		if (atomic_load(&names[i]) == s)
			return (int)i;
	i = s ? atomic_fetch_add(&names_used, 1) + 1 : NUMBERS;
	if (i >= NUMBERS)
		return 0;
	atomic_store(&names[i], s);
	return (int)i;
}

static kymo_string_t itt = KYMO_STRING("itt");

static int event_create(const char *name, int length)
{
	char text[KYMO_STRING_MAX + 1];

	if (!name || length < 0)
		return 0;
	snprintf(text, sizeof(text), "%.*s", length, name);
	return number_of(text);
}

static struct itt_id event_id(int event)
{
	return (struct itt_id){(unsigned long long)event, (unsigned long long)syscall(SYS_gettid),
			       0};
}

static int event_start(int event)
{
	kymo_marker_t m = {.size = sizeof(m), .string = named(event), .domain = &itt};

	if (!m.string)
		return -1;
	m.category = annotation_string("event");
	open_by(ITT_KEY_EVENT, NULL, event_id(event), &m);
	return 0;
}

static int event_end(int event)
{
	close_by(ITT_KEY_EVENT, NULL, event_id(event));
	return 0;
}

static int mark(int type, const char *parameter)
{
	kymo_payload_t p = kymo_text("parameter", parameter);
	kymo_marker_t m = {.size = sizeof(m), .string = named(type), .domain = &itt};

	if (!m.string)
		return -1;
	if (parameter) {
		m.payload = &p;
		m.payload_count = 1;
	}
	kymo_mark_full(&m);
	return 0;
}

static int mark_off(int type)
{
	return 0;
}

/* ---- frames of before domains ---- */

static void *frame_create(const char *name)
{
	return annotation_string(name);
}

static void old_frame_begin(void *frame)
{
	kymo_marker_t m = {.size = sizeof(m), .string = frame, .domain = &itt};

	if (!frame)
		return;
	m.category = annotation_string("frame");
	open_by(ITT_KEY_OLD_FRAME, frame, (struct itt_id){0, 0, 0}, &m);
}

static void old_frame_end(void *frame)
{
	close_by(ITT_KEY_OLD_FRAME, frame, (struct itt_id){0, 0, 0});
}

void itt_task_functions(itt_tell *tell, void *data)
{
	ITT_FUNCTION("task_begin", task_begin);
	ITT_FUNCTION("task_begin_fn", task_begin_fn);
	ITT_FUNCTION("task_end", task_end);
	ITT_FUNCTION("task_begin_ex", task_begin_ex);
	ITT_FUNCTION("task_begin_fn_ex", task_begin_fn_ex);
	ITT_FUNCTION("task_end_ex", task_end_ex);
	ITT_FUNCTION("task_begin_overlapped", task_begin_overlapped);
	ITT_FUNCTION("task_begin_overlapped_ex", task_begin_overlapped_ex);
	ITT_FUNCTION("task_end_overlapped", task_end_overlapped);
	ITT_FUNCTION("task_end_overlapped_ex", task_end_overlapped_ex);
	ITT_FUNCTION("task_group", task_group);
	ITT_FUNCTION("region_begin", region_begin);
	ITT_FUNCTION("region_end", region_end);
	ITT_FUNCTION("frame_begin_v3", frame_begin);
	ITT_FUNCTION("frame_end_v3", frame_end);
	ITT_FUNCTION("frame_submit_v3", frame_submit);
	ITT_FUNCTION("marker", marker);
	ITT_FUNCTION("marker_ex", marker_ex);
	ITT_FUNCTION("event_create", event_create);
	ITT_FUNCTION("event_start", event_start);
	ITT_FUNCTION("event_end", event_end);
	ITT_FUNCTION("mark_create", number_of);
	ITT_FUNCTION("mark", mark);
	ITT_FUNCTION("mark_global", mark);
	ITT_FUNCTION("mark_off", mark_off);
	ITT_FUNCTION("mark_global_off", mark_off);
	ITT_FUNCTION("frame_create", frame_create);
	ITT_FUNCTION("frame_begin", old_frame_begin);
	ITT_FUNCTION("frame_end", old_frame_end);
}
