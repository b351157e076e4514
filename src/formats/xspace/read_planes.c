/* SPDX-License-Identifier: Apache-2.0 */
/* Planes, their lines and names; see reader.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/xspace/reader.h"

/* ---- stats ----------------------------------------------------------------------------------- */

static void learn_names(struct reader *r)
{
	static const char *const names[] = {
#define X(name, text) text,
		XREAD_STATS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!map_set(&r->known, hash_string(names[i]), i + 1))
			r->failed = true;
}

static const struct stat_meta *meta_of(const struct reader *r, const struct plane_in *p,
				       uint64_t id)
{
	uint64_t i = map_get(&p->stats, id);

	return i ? &r->stat_names[i - 1] : NULL;
}

static void take_value(struct reader *r, const struct plane_in *p, const struct proto_field *f,
		       struct stat_value *v)
{
	static const struct {
		uint8_t wire, type;
	} of[8] = {[2] = {PROTO_8_BYTES, TYPE_REAL},  [3] = {PROTO_NUMBER, TYPE_UNSIGNED},
		   [4] = {PROTO_NUMBER, TYPE_SIGNED}, [5] = {PROTO_PART, TYPE_TEXT},
		   [6] = {PROTO_PART, TYPE_BYTES},    [7] = {PROTO_NUMBER, TYPE_TEXT}};
	const struct stat_meta *m;

	if (f->number < 2 || f->number > 7)
		return;
	if (f->type != of[f->number].wire) {
		r->wrong++;
		return;
	}
	v->type = of[f->number].type;
	v->u = f->v;
	v->s = f->s;
	if (f->number != 7)
		return;
	m = meta_of(r, p, f->v);
	v->s = m ? m->name : PART_NONE;
	if (!m)
		unplaced_add(&r->unplaced, "texts that are not in the table", 1);
}

bool xread_stat(struct reader *r, const struct plane_in *p, struct part stat, struct stat_value *v)
{
	struct proto_walk w = proto_walk(stat);
	const struct stat_meta *m = NULL;
	struct proto_field f;

	*v = (struct stat_value){.s = PART_NONE};
	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			m = meta_of(r, p, f.v);
		else
			take_value(r, p, &f, v);
	}
	r->damaged += w.broken;
	if (m) {
		v->name = m->name;
		v->known = m->known;
	}
	return m && v->type;
}

struct stat_walk xread_stat_walk(const struct reader *r, const struct entry *e)
{
	const struct plane_in *p = &r->planes[r->lines[e->line].plane];
	struct part event = {e->data, e->length};
	struct stat_walk w = {.plane = p, .w = proto_walk(event), .field = 4};
	struct proto_walk names = w.w;
	struct proto_field f;
	int64_t id = 0;

	while (proto_next(&names, &f))
		if (f.number == 1 && f.type == PROTO_NUMBER)
			id = (int64_t)f.v;
	if (xread_event_name(r, p, id))
		w.later = xread_event_name(r, p, id)->stats;
	return w;
}

bool xread_next_stat(struct reader *r, struct stat_walk *w, struct stat_value *v)
{
	struct proto_field f;

	for (;;) {
		while (proto_next(&w->w, &f)) {
			if (f.number != w->field || f.type != PROTO_PART)
				continue;
			if (xread_stat(r, w->plane, f.s, v))
				return true;
			unplaced_add(&r->unplaced, "stats without a name or value", 1);
		}
		if (!w->later.n)
			return false;
		w->w = proto_walk(w->later);
		w->later.n = 0;
		w->field = 5;
	}
}

/* The event's own go before those of its name. */
void xread_stats(struct reader *r, const struct entry *e, struct stats *out)
{
	struct stat_walk w = xread_stat_walk(r, e);
	struct stat_value v;

	out->there = 0;
	while (xread_next_stat(r, &w, &v)) {
		if (!v.known || (w.field == 5 && out->there >> v.known & 1))
			continue;
		out->there |= UINT64_C(1) << v.known;
		out->of[v.known] = v;
	}
}

uint64_t stat_unsigned(const struct stats *s, enum stat_name name)
{
	const struct stat_value *v = stat_of(s, name);

	return v && (v->type == TYPE_UNSIGNED || v->type == TYPE_SIGNED) ? v->u : 0;
}

struct part stat_text(const struct stats *s, enum stat_name name)
{
	const struct stat_value *v = stat_of(s, name);

	return v && v->type == TYPE_TEXT ? v->s : PART_NONE;
}

/* ---- tables of names ------------------------------------------------------------------------- */

/* "key: value" of a map, where the value is a message. */
static struct part map_value(struct reader *r, struct part entry, uint64_t *key)
{
	struct proto_walk w = proto_walk(entry);
	struct part value = PART_NONE;
	struct proto_field f;

	*key = 0;
	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			*key = f.v;
		else if (proto_is(&f, 2, PROTO_PART, &r->wrong))
			value = f.s;
	}
	r->damaged += w.broken;
	return value;
}

/* Of two with one id the last one holds, as in every map of the format. */
static void put_number(struct reader *r, struct map *m, uint64_t id, uint32_t place)
{
	if (map_get(m, id))
		unplaced_add(&r->unplaced, "names whose number another one has", 1);
	if (!map_set(m, id, place))
		r->failed = true;
}

static void add_event_name(struct reader *r, struct plane_in *p, struct part entry)
{
	uint64_t id;
	struct part value = map_value(r, entry, &id);
	struct proto_walk w = proto_walk(value);
	struct event_name n = {PART_NONE, PART_NONE, PART_NONE};
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (proto_is(&f, 2, PROTO_PART, &r->wrong))
			n.name = f.s;
		else if (proto_is(&f, 4, PROTO_PART, &r->wrong))
			n.display = f.s;
		else if (proto_is(&f, 5, PROTO_PART, &r->wrong))
			n.stats = value;
	}
	r->damaged += w.broken;
	if (!vec_reserve(&r->event_names, &r->event_name_room, r->event_name_count, 1)) {
		r->failed = true;
		return;
	}
	r->event_names[r->event_name_count++] = n;
	put_number(r, &p->events, id, r->event_name_count);
}

static void add_stat_name(struct reader *r, struct plane_in *p, struct part entry)
{
	uint64_t id;
	struct part value = map_value(r, entry, &id);
	struct proto_walk w = proto_walk(value);
	struct stat_meta m = {.name = PART_NONE};
	struct proto_field f;

	while (proto_next(&w, &f))
		if (proto_is(&f, 2, PROTO_PART, &r->wrong))
			m.name = f.s;
	r->damaged += w.broken;
	m.known = (uint8_t)map_get(&r->known, hash_bytes(m.name.s, m.name.n));
	if (!vec_reserve(&r->stat_names, &r->stat_name_room, r->stat_name_count, 1)) {
		r->failed = true;
		return;
	}
	r->stat_names[r->stat_name_count++] = m;
	put_number(r, &p->stats, id, r->stat_name_count);
}

const struct event_name *xread_event_name(const struct reader *r, const struct plane_in *p,
					  int64_t id)
{
	uint64_t i = map_get(&p->events, (uint64_t)id);

	return i ? &r->event_names[i - 1] : NULL;
}

/* ---- properties ------------------------------------------------------------------------------ */

static void take_number(struct plane_in *p, const struct stat_value *v)
{
	static const struct {
		const char *name;
		size_t at;
	} of[] = {{"clock_rate", offsetof(struct plane_in, clock_khz)},
		  {"core_count", offsetof(struct plane_in, cores)},
		  {"memory_size", offsetof(struct plane_in, memory)},
		  {"memory_bandwidth", offsetof(struct plane_in, bandwidth)},
		  {"compute_cap_major", offsetof(struct plane_in, major)},
		  {"compute_cap_minor", offsetof(struct plane_in, minor)},
		  {"process_id", offsetof(struct plane_in, pid)},
		  {"rank", offsetof(struct plane_in, rank)},
		  {"ranks", offsetof(struct plane_in, ranks)}};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (part_is(v->name, of[i].name))
			*(uint64_t *)(void *)((char *)p + of[i].at) = v->u;
	p->has_pid |= part_is(v->name, "process_id");
	p->has_rank |= part_is(v->name, "rank") && v->u < UINT32_MAX;
	p->has_capability |= part_is(v->name, "compute_cap_major");
}

static void take_text(struct plane_in *p, const struct stat_value *v)
{
	static const struct {
		const char *name;
		size_t at;
	} of[] = {{"gpu_device_name", offsetof(struct plane_in, device_name)},
		  {"device_type_string", offsetof(struct plane_in, device_type)},
		  {"device_vendor", offsetof(struct plane_in, vendor)},
		  {"runtime", offsetof(struct plane_in, runtime)},
		  {"process_name", offsetof(struct plane_in, process_name)},
		  {"hostname", offsetof(struct plane_in, hostname)}};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (part_is(v->name, of[i].name))
			*(struct part *)(void *)((char *)p + of[i].at) = v->s;
}

/* When the file was recorded, since 1970. */
static void take_window(struct input *in, const struct stat_value *v)
{
	if (v->u > INT64_MAX / 2)
		return;
	if (part_is(v->name, "profile_start_time"))
		in->start = v->i;
	else if (part_is(v->name, "profile_stop_time"))
		in->stop = v->i;
}

/* The names of edges are numbers that no table has. */
static void take_edge(struct reader *r, struct plane_in *p, struct part stat)
{
	struct proto_walk w = proto_walk(stat);
	int64_t child = 0, parent = 0;
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			child = (int64_t)f.v;
		else if (proto_is(&f, 4, PROTO_NUMBER, &r->wrong))
			parent = (int64_t)f.v;
	}
	r->damaged += w.broken;
	if (child && parent)
		xread_add_edge(r, p->input, child, parent);
	else
		unplaced_add(&r->unplaced, "edges of the tree of scopes without two ends", 1);
}

static void take_property(struct reader *r, struct plane_in *p, struct part stat)
{
	struct stat_value v;

	if (p->kind == PLANE_TREE) {
		take_edge(r, p, stat);
	} else if (xread_stat(r, p, stat, &v)) {
		if (p->kind == PLANE_ENVIRONMENT)
			take_window(&r->in.files[p->input], &v);
		else if (v.type == TYPE_TEXT)
			take_text(p, &v);
		else if (v.type != TYPE_BYTES)
			take_number(p, &v);
	}
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Lines that readers of the format make of others; of a TPU they are all that there is. */
static bool is_derived(const struct plane_in *p, const struct line_in *l)
{
	static const char *const names[] = {"Steps",
					    "XLA Modules",
					    "XLA Ops",
					    "Framework Ops",
					    "Framework Name Scope",
					    "TensorFlow Ops",
					    "TensorFlow Name Scope",
					    "Source code",
					    "Source",
					    "Launch Stats"};

	if (p->tpu)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (part_is(l->name, names[i]))
			return true;
	return l->id >= XSPACE_DERIVED && l->id < XSPACE_DERIVED + 0x1000;
}

static enum line_what what_of(const struct plane_in *p, const struct line_in *l)
{
	if (part_is(l->name, XSPACE_LINE_COUNTERS))
		return ROW_COUNTERS;
	if (p->kind == PLANE_HOST)
		return part_begins(l->name, XSPACE_LINE_RANGES)     ? ROW_RANGES
		       : part_begins(l->name, XSPACE_LINE_MESSAGES) ? ROW_MESSAGES
								    : ROW_THREAD;
	if (is_derived(p, l))
		return ROW_DERIVED;
	if (part_is(l->name, "CUPTI overhead") || (p->tpu && !part_begins(l->name, "XLA Ops")))
		return ROW_RANGES;
	return part_begins(l->name, "No stream") ? ROW_DEVICE : ROW_QUEUE;
}

/* "(2)" at its end, and an id that Kymo gives to such lines: what overlapped the line before it. */
static bool is_lane(const struct reader *r, const struct line_in *l)
{
	return r->line_count && l->id >= XSPACE_LANES && l->id < XSPACE_DERIVED && l->name.n > 4 &&
	       l->name.s[l->name.n - 1] == ')' && r->lines[r->line_count - 1].plane == l->plane;
}

static void add_line(struct reader *r, uint32_t plane, struct part whole)
{
	struct line_in l = {
		.plane = plane, .whole = whole, .name = PART_NONE, .display = PART_NONE};
	struct proto_walk w = proto_walk(whole);
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			l.id = (int64_t)f.v;
		else if (proto_is(&f, 2, PROTO_PART, &r->wrong))
			l.name = f.s;
		else if (proto_is(&f, 3, PROTO_NUMBER, &r->wrong))
			l.timestamp_ns = (int64_t)f.v;
		else if (proto_is(&f, 11, PROTO_PART, &r->wrong))
			l.display = f.s;
	}
	r->damaged += w.broken;
	if (!vec_reserve(&r->lines, &r->line_room, r->line_count, 1)) {
		r->failed = true;
		return;
	}
	l.what = (uint8_t)what_of(&r->planes[plane], &l);
	l.first = is_lane(r, &l) ? r->lines[r->line_count - 1].first : r->line_count;
	r->lines[r->line_count++] = l;
}

/* ---- planes ---------------------------------------------------------------------------------- */

static enum plane_kind kind_of(struct plane_in *p)
{
	p->tpu = part_begins(p->name, "/device:TPU");
	p->gpu = part_begins(p->name, XSPACE_GPU);
	if (part_is(p->name, XSPACE_SCOPE_TREE))
		return PLANE_TREE;
	if (part_is(p->name, XSPACE_ENVIRONMENT))
		return PLANE_ENVIRONMENT;
	if (part_is(p->name, "/host:metadata"))
		return PLANE_OTHER;
	return part_begins(p->name, "/host:")     ? PLANE_HOST
	       : part_begins(p->name, "/device:") ? PLANE_DEVICE
						  : PLANE_OTHER;
}

static void name_plane(struct reader *r, struct plane_in *p)
{
	struct proto_walk w = proto_walk(p->whole);
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			p->id = (int64_t)f.v;
		else if (proto_is(&f, 2, PROTO_PART, &r->wrong))
			p->name = f.s;
		else if (proto_is(&f, 4, PROTO_PART, &r->wrong))
			add_event_name(r, p, f.s);
		else if (proto_is(&f, 5, PROTO_PART, &r->wrong))
			add_stat_name(r, p, f.s);
	}
	r->damaged += w.broken;
	p->kind = (uint8_t)kind_of(p);
}

static void add_plane(struct reader *r, uint32_t input, struct part whole)
{
	struct proto_walk w = proto_walk(whole);
	struct proto_field f;
	struct plane_in *p;

	if (!vec_reserve(&r->planes, &r->plane_room, r->plane_count, 1)) {
		r->failed = true;
		return;
	}
	p = &r->planes[r->plane_count++];
	*p = (struct plane_in){.input = input, .whole = whole, .name = PART_NONE};
	name_plane(r, p);
	while (!r->failed && proto_next(&w, &f)) {
		if (f.number == 6 && f.type == PROTO_PART)
			take_property(r, p, f.s);
		else if (f.number == 3 && f.type == PROTO_PART)
			add_line(r, r->plane_count - 1, f.s);
	}
	if (p->kind == PLANE_OTHER && p->events.count && !part_is(p->name, ""))
		unplaced_add(&r->unplaced,
			     "names, and what they have, of planes that are no host's or device's",
			     p->events.count);
}

/* HOST.xplane.pb, which may be packed. */
static struct part host_of_name(const char *path)
{
	const char *name = strrchr(path, '/'), *end;

	name = name ? name + 1 : path;
	end = strstr(name, XSPACE_SUFFIX);
	return (struct part){(const uint8_t *)name, end ? (size_t)(end - name) : strlen(name)};
}

static void take_file(struct reader *r, uint32_t input)
{
	struct input *in = &r->in.files[input];
	struct proto_walk w = proto_walk(in->data);
	struct proto_field f;

	while (!r->failed && proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_PART, &r->wrong))
			add_plane(r, input, f.s);
		else if (proto_is(&f, 2, PROTO_PART, &r->wrong) ||
			 proto_is(&f, 3, PROTO_PART, &r->wrong))
			stream_warn(r->o->log, "%s: its writer says: %.*s", in->path,
				    (int)(f.s.n < 200 ? f.s.n : 200), (const char *)f.s.s);
		else if (proto_is(&f, 4, PROTO_PART, &r->wrong) && !in->host)
			in->host = xread_text(r, f.s);
	}
	if (!in->host && r->in.folder)
		in->host = xread_text(r, host_of_name(in->path));
	r->damaged += w.broken;
	if (w.broken)
		stream_error(
			r->o->log,
			"%s: it is cut, or no profile, from byte %zu on: what comes after is lost",
			in->path, (size_t)(w.end - in->data.s));
}

void xread_planes(struct reader *r)
{
	learn_names(r);
	for (uint32_t i = 0; i < r->in.count && !r->failed; i++)
		take_file(r, i);
}
