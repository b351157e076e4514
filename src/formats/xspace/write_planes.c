/* SPDX-License-Identifier: Apache-2.0 */
/* Planes: one for each process, one for each device; their lines, names and properties. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "formats/xspace/writer.h"
#include "stream/names.h"
#include "stream/trace.h"

/* Ids of lines are unique in 32 bits, below those of derived lines. */
enum {
	ID_AGENT = 0x30000000,
	ID_RANGES = 0x40000000,
	ID_MESSAGES = 0x41000000,
	ID_COUNTERS = 0x42000000,
	ID_DEVICE_COUNTERS = 0x43000000,
	ID_THREAD = 0x50000000,
	ID_LANE = XSPACE_LANES
};

/* ---- which is which -------------------------------------------------------------------------- */

uint32_t plane_of_process(const struct xspace_writer *w, uint32_t process)
{
	return process ? process - 1 : 0;
}

uint32_t plane_of_agent(const struct xspace_writer *w, uint32_t process, uint32_t agent)
{
	return agent ? w->devices[agent] : plane_of_process(w, process);
}

uint64_t device_number(const struct xspace_writer *w, uint32_t agent)
{
	return (uint64_t)w->planes[w->devices[agent]].id;
}

static uint32_t counts(const struct xspace_writer *w, enum line_kind kind)
{
	const struct trace *t = w->t;

	switch (kind) {
	case LINE_THREAD:
		return t->threads_count;
	case LINE_QUEUE:
		return t->queues_count;
	case LINE_AGENT:
	case LINE_DEVICE_COUNTERS:
		return t->agents_count;
	default:
		return t->processes_count;
	}
}

uint32_t line_of(const struct xspace_writer *w, enum line_kind kind, uint32_t index)
{
	for (enum line_kind k = LINE_THREAD; k < kind; k++)
		index += counts(w, k);
	return index;
}

enum line_kind line_kind(const struct xspace_writer *w, uint32_t line, uint32_t *index)
{
	enum line_kind k = LINE_THREAD;

	while (k < LINE_DEVICE_COUNTERS && line >= counts(w, k))
		line -= counts(w, k++);
	*index = line;
	return k;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static uint32_t host_number(struct xspace_writer *w, const char *host)
{
	uint32_t i = names_get(&w->hosts, &w->scratch, host, strlen(host));

	w->failed |= !i;
	return i;
}

static uint32_t file_number(struct xspace_writer *w, uint32_t process)
{
	uint32_t i = w->folder && process ? host_number(w, w->t->processes[process].hostname) : 0;

	return i ? i - 1 : 0;
}

struct file *file_of_process(const struct xspace_writer *w, uint32_t process)
{
	return &w->files[process ? w->planes[process - 1].file : 0];
}

/* ---- properties ------------------------------------------------------------------------------ */

static Xs__Stat property(struct xspace_writer *w, struct plane *p, const char *name)
{
	Xs__Stat s = XS__STAT__INIT;

	s.metadata_id = names_get(&p->stats, &w->scratch, name, strlen(name));
	w->failed |= !s.metadata_id;
	return s;
}

static void property_number(struct xspace_writer *w, struct plane *p, const char *name, uint64_t v)
{
	Xs__Stat s = property(w, p, name);

	s.value_case = XS__STAT__VALUE_UINT64_VALUE;
	s.uint64_value = v;
	pack_field(w, &p->properties, 6, &s.base);
}

static void property_text(struct xspace_writer *w, struct plane *p, const char *name, const char *v)
{
	Xs__Stat s = property(w, p, name);

	if (!v || !*v)
		return;
	s.value_case = XS__STAT__VALUE_REF_VALUE;
	s.ref_value = names_get(&p->stats, &w->scratch, v, strlen(v));
	w->failed |= !s.ref_value;
	pack_field(w, &p->properties, 6, &s.base);
}

static void known_number(struct xspace_writer *w, struct plane *p, const char *name, uint64_t v)
{
	if (v)
		property_number(w, p, name, v);
}

/* Units are those of the format: kHz, bytes, bytes a second. */
static void describe_device(struct xspace_writer *w, struct plane *p, const struct t_agent *a)
{
	uint64_t khz = limits_told(a, "\"clock_khz\":");
	uint64_t cores = limits_told(a, "\"multiprocessors\":");
	unsigned major, minor;
	bool nvidia = strstr(a->vendor, "NVIDIA") || strstr(a->vendor, "Nvidia") ||
		      (!*a->vendor && strncmp(a->domain, "cuda", 4) == 0);
	bool amd =
		strstr(a->vendor, "AMD") || strstr(a->vendor, "Advanced Micro") ||
		(!*a->vendor && (strcmp(a->domain, "hip") == 0 || strcmp(a->domain, "hsa") == 0));

	property_text(w, p, "device_vendor", nvidia ? "Nvidia" : amd ? "AMD" : a->vendor);
	property_text(w, p, "gpu_device_name", a->name);
	property_text(w, p, "device_type_string", a->type);
	property_text(w, p, "runtime", a->domain);
	known_number(w, p, "clock_rate", khz ? khz : 1000 * limits_told(a, "\"clock_mhz\":"));
	known_number(w, p, "core_count", cores ? cores : limits_told(a, "\"compute_units\":"));
	known_number(w, p, "memory_size", limits_told(a, "\"memory_bytes\":"));
	known_number(w, p, "memory_bandwidth", 1000 * limits_told(a, "\"memory_bandwidth_kb_s\":"));
	if (!limits_capability(a, &major, &minor))
		return;
	property_number(w, p, "compute_cap_major", major);
	property_number(w, p, "compute_cap_minor", minor);
}

static void describe_process(struct xspace_writer *w, struct plane *p, const struct t_process *x)
{
	property_number(w, p, "process_id", x->pid);
	property_text(w, p, "process_name", name_program(x));
	property_text(w, p, "hostname", x->hostname);
	if (x->rank != UINT32_MAX)
		property_number(w, p, "rank", x->rank);
	if (x->ranks)
		property_number(w, p, "ranks", x->ranks);
}

/* ---- planes ---------------------------------------------------------------------------------- */

static void set_name(struct xspace_writer *w, struct plane *p, const char *format, const char *text,
		     uint64_t number)
{
	struct text name = {0};

	text_addf(&name, format, text,
		  (unsigned long long)number); /* NOLINT: formats of this file */
	names_get(&p->events, &w->scratch, name.s ? name.s : "", name.length);
	p->name = p->events.count ? strdup(p->events.texts[0]) : NULL;
	names_release(&p->events);
	w->failed |= !p->name || name.failed;
	text_release(&name);
}

static void make_process(struct xspace_writer *w, uint32_t i)
{
	struct plane *p = &w->planes[plane_of_process(w, i)];
	const struct t_process *x = &w->t->processes[i];

	p->id = i - 1;
	p->file = file_number(w, i);
	set_name(w, p, XSPACE_HOST " %s %llu", name_program(x), x->pid);
	describe_process(w, p, x);
}

static bool is_gpu(const struct t_agent *a)
{
	return strcmp(a->type, "gpu") == 0;
}

static void make_device(struct xspace_writer *w, uint32_t agent)
{
	const struct t_agent *a = &w->t->agents[agent];
	struct plane *p = &w->planes[w->devices[agent]];

	p->id += is_gpu(a) ? 0 : w->files[p->file].numbers[true];
	if (is_gpu(a))
		set_name(w, p, "%s%llu", XSPACE_GPU, (uint64_t)p->id);
	else
		set_name(w, p, XSPACE_CUSTOM "%s", a->label, 0);
	describe_device(w, p, a);
}

/* Agents of several processes that are one device are one plane: false where the device has one. */
static bool take_plane(struct xspace_writer *w, struct map *labels, uint32_t agent)
{
	const struct t_agent *a = &w->t->agents[agent];
	uint64_t hash = hash_bytes(a->label, strlen(a->label)), i;
	struct plane *p;

	map_each(labels, hash, i) {
		if (strcmp(w->t->agents[i].label, a->label) == 0) {
			w->devices[agent] = w->devices[i];
			return false;
		}
	}
	w->failed |= !map_add(labels, hash, agent);
	w->devices[agent] = w->plane_count++;
	p = &w->planes[w->devices[agent]];
	p->file = file_number(w, a->process);
	p->id = w->files[p->file].numbers[is_gpu(a)]++;
	return true;
}

/* Numbers from 0 on in each file, those of GPUs first: theirs are in their names. */
static void make_planes(struct xspace_writer *w)
{
	const struct trace *t = w->t;
	struct map labels = {0};

	for (uint32_t i = 1; i < t->processes_count; i++)
		make_process(w, i);
	w->plane_count = t->processes_count > 1 ? t->processes_count - 1 : 1;
	for (uint32_t i = 1; i < t->agents_count; i++)
		take_plane(w, &labels, i);
	map_release(&labels);
	for (uint32_t i = 1; i < t->agents_count; i++) {
		limits_read(&w->limits[i], &t->agents[i]);
		if (!w->planes[w->devices[i]].name)
			make_device(w, i);
	}
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The numbers of hosts, in the order of their first processes; without a folder all are in one file. */
static bool find_hosts(struct xspace_writer *w)
{
	const struct trace *t = w->t;
	uint32_t n;

	for (uint32_t i = 1; i < t->processes_count; i++)
		if (!host_number(w, t->processes[i].hostname))
			return false;
	n = w->folder && w->hosts.count ? w->hosts.count : 1;
	w->files = calloc(n, sizeof(*w->files));
	w->file_count = w->files ? n : 0;
	for (uint32_t i = 0; i < w->file_count; i++)
		w->files[i].host = i < w->hosts.count ? w->hosts.texts[i] : "";
	return w->files;
}

/* What would be looked for again and again. */
static void find_queues_and_threads(struct xspace_writer *w)
{
	const struct trace *t = w->t;
	struct map ids = {0};

	for (uint32_t i = 1; i < t->queues_count; i++)
		if (t->queues[i].handle >= 1u << 16)
			w->pointers[t->queues[i].agent] = true;
	for (uint32_t i = 1; i < t->threads_count && !w->failed; i++) {
		uint64_t tid = t->threads[i].tid;

		w->other_thread[i] = map_get(&ids, hash_u64(tid)) != 0;
		w->failed |= !map_set(&ids, hash_u64(tid), 1);
	}
	map_release(&ids);
}

kymo_status_t planes_begin(struct xspace_writer *w)
{
	const struct trace *t = w->t;

	w->base = t->origin + trace_to_realtime(t);
	w->line_count = line_of(w, LINE_DEVICE_COUNTERS, t->agents_count);
	w->planes = calloc((size_t)t->processes_count + t->agents_count + 1, sizeof(*w->planes));
	w->devices = calloc((size_t)t->agents_count + 1, sizeof(*w->devices));
	w->lines = calloc((size_t)w->line_count + 1, sizeof(*w->lines));
	w->pointers = calloc((size_t)t->agents_count + 1, sizeof(*w->pointers));
	w->limits = calloc((size_t)t->agents_count + 1, sizeof(*w->limits));
	w->other_thread = calloc((size_t)t->threads_count + 1, sizeof(*w->other_thread));
	if (!w->planes || !w->devices || !w->lines || !w->pointers || !w->limits ||
	    !w->other_thread || !find_hosts(w))
		return KYMO_ERROR_NO_MEMORY;
	make_planes(w);
	find_queues_and_threads(w);
	return w->failed ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
}

static void release_line(struct line *l)
{
	for (uint32_t i = 0; i < l->lane_count; i++)
		free(l->lanes[i].ends);
	free(l->lanes);
}

void planes_release(struct xspace_writer *w)
{
	for (uint32_t i = 0; w->lines && i < w->line_count; i++)
		release_line(&w->lines[i]);
	for (uint32_t i = 0; w->planes && i < w->plane_count; i++) {
		free(w->planes[i].name);
		names_release(&w->planes[i].events);
		names_release(&w->planes[i].stats);
		text_release(&w->planes[i].properties);
	}
	for (uint32_t i = 0; i < w->file_count; i++)
		text_release(&w->files[i].warnings);
	free(w->files);
	free(w->lines);
	free(w->planes);
	free(w->devices);
	free(w->pointers);
	free(w->limits);
	free(w->other_thread);
	names_release(&w->hosts);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_works(struct text *out, uint32_t works)
{
	static const char *const names[WORKS] = {"Kernel",    "MemcpyH2D", "MemcpyD2H", "MemcpyD2D",
						 "MemcpyP2P", "MemcpyH2H", "Memset",    "Other"};
	bool later = false;

	for (unsigned i = 0; i < WORKS; i++)
		if (works >> i & 1) {
			text_addf(out, "%s%s", later ? "," : "(", names[i]);
			later = true;
		}
	text_add(out, later ? ")" : "");
}

/* The runtime's numbers of queues, where all of a device have one; else, as of pointers, Kymo's. */
static uint64_t stream_number(const struct xspace_writer *w, const struct t_queue *q)
{
	return w->pointers[q->agent] ? q->number : q->handle;
}

/* A thread's line has its id for its own, unless another process has one of that id. */
static int64_t thread_id(const struct xspace_writer *w, uint32_t thread)
{
	uint32_t tid = w->t->threads[thread].tid;

	return tid < ID_AGENT && tid && !w->other_thread[thread] ? (int64_t)tid
								 : ID_THREAD + (int64_t)thread;
}

static int64_t line_id(const struct xspace_writer *w, enum line_kind kind, uint32_t i)
{
	static const int64_t from[] = {[LINE_QUEUE] = 0,
				       [LINE_AGENT] = ID_AGENT,
				       [LINE_RANGES] = ID_RANGES,
				       [LINE_MESSAGES] = ID_MESSAGES,
				       [LINE_COUNTERS] = ID_COUNTERS,
				       [LINE_DEVICE_COUNTERS] = ID_DEVICE_COUNTERS};

	return kind == LINE_THREAD ? thread_id(w, i) : from[kind] + (int64_t)i;
}

static void line_name(const struct xspace_writer *w, enum line_kind kind, uint32_t i,
		      uint32_t works, struct text *out)
{
	const struct t_thread *th = &w->t->threads[kind == LINE_THREAD ? i : 0];

	switch (kind) {
	case LINE_THREAD:
		if (*th->name)
			text_addf(out, "%s", th->name);
		else
			text_addf(out, "Host Threads/%u", th->tid);
		break;
	case LINE_QUEUE:
		text_addf(out, "Stream #%llu",
			  (unsigned long long)stream_number(w, &w->t->queues[i]));
		add_works(out, works);
		break;
	case LINE_AGENT:
		text_add(out, "No stream");
		add_works(out, works);
		break;
	case LINE_RANGES:
		text_add(out, XSPACE_LINE_RANGES);
		break;
	case LINE_MESSAGES:
		text_add(out, XSPACE_LINE_MESSAGES);
		break;
	default:
		text_add(out, XSPACE_LINE_COUNTERS);
	}
}

/* All of a lane but its events. */
static void pack_line(struct xspace_writer *w, uint32_t line, uint32_t lane, struct text *out)
{
	const struct line *l = &w->lines[line];
	Xs__Line m = XS__LINE__INIT;
	struct names texts = {0};
	struct text name = {0};
	uint32_t i, shown;
	enum line_kind kind = line_kind(w, line, &i);

	line_name(w, kind, i, l->works, &name);
	if (lane)
		text_addf(&name, " (%u)", lane + 1);
	names_get(&texts, &w->scratch, name.s ? name.s : "", name.length);
	m.id = lane ? ID_LANE + (int64_t)line * LANES_MAX + lane : line_id(w, kind, i);
	m.display_id = m.id;
	m.timestamp_ns = w->base;
	m.name = texts.count ? texts.texts[0] : NULL;
	shown = kind == LINE_QUEUE && *w->t->queues[i].name
			? names_get(&texts, &w->scratch, w->t->queues[i].name,
				    strlen(w->t->queues[i].name))
			: 0;
	if (shown > 1)
		m.display_name = texts.texts[shown - 1];
	out->length = 0;
	if (m.name)
		pack_message(w, out, &m.base);
	w->failed |= !m.name || name.failed;
	text_release(&name);
	names_release(&texts);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void pack_names(struct xspace_writer *w, const struct plane *p, struct text *out)
{
	for (uint32_t i = 0; i < p->events.count; i++) {
		Xs__EventMetadata m = XS__EVENT_METADATA__INIT;
		Xs__EventName e = XS__EVENT_NAME__INIT;

		e.key = m.id = (int64_t)i + 1;
		m.name = p->events.texts[i];
		e.value = &m;
		pack_field(w, out, 4, &e.base);
	}
	for (uint32_t i = 0; i < p->stats.count; i++) {
		Xs__StatMetadata m = XS__STAT_METADATA__INIT;
		Xs__StatName e = XS__STAT_NAME__INIT;

		e.key = m.id = (int64_t)i + 1;
		m.name = p->stats.texts[i];
		e.value = &m;
		pack_field(w, out, 5, &e.base);
	}
}

static void put(struct xspace_writer *w, const struct text *bytes)
{
	w->failed |= bytes->failed;
	w->written += bytes->length;
	output_put(&w->out, bytes->s ? bytes->s : "", bytes->length);
}

/* Bytes of all lines of the plane; with `out` they are put out as well. */
static uint64_t walk_lines(struct xspace_writer *w, uint32_t plane, bool out)
{
	struct text head = {0}, front = {0};
	uint64_t total = 0;

	for (uint32_t i = w->planes[plane].lines; i; i = w->lines[i - 1].next) {
		const struct line *l = &w->lines[i - 1];

		for (uint32_t k = 0; k < l->lane_count; k++) {
			uint64_t bytes;

			pack_line(w, i - 1, k, &head);
			bytes = head.length + l->lanes[k].bytes;
			total += head_size(bytes) + bytes;
			if (!out)
				continue;
			front.length = 0;
			pack_head(&front, 3, bytes);
			put(w, &front);
			put(w, &head);
			lines_put(w, l, k);
		}
	}
	text_release(&head);
	text_release(&front);
	return total;
}

static void put_plane(struct xspace_writer *w, uint32_t plane)
{
	struct plane *p = &w->planes[plane];
	Xs__Plane m = XS__PLANE__INIT;
	struct text head = {0}, tail = {0}, front = {0};

	m.id = p->id;
	m.name = p->name;
	pack_message(w, &head, &m.base);
	pack_names(w, p, &tail);
	pack_head(&front, 1,
		  head.length + walk_lines(w, plane, false) + tail.length + p->properties.length);
	put(w, &front);
	put(w, &head);
	walk_lines(w, plane, true);
	put(w, &tail);
	put(w, &p->properties);
	text_release(&head);
	text_release(&tail);
	text_release(&front);
}

/* The beginning of a plane without lines, of which so many bytes follow. */
static void put_small(struct xspace_writer *w, const char *name, uint64_t rest)
{
	Xs__Plane m = XS__PLANE__INIT;
	struct text head = {0}, front = {0};

	m.name = (char *)(uintptr_t)name;
	pack_message(w, &head, &m.base);
	pack_head(&front, 1, head.length + rest);
	put(w, &front);
	put(w, &head);
	text_release(&head);
	text_release(&front);
}

static bool is_process(const struct xspace_writer *w, uint32_t plane)
{
	return plane + 1 < w->t->processes_count;
}

/* Bytes of all edges; with `out` they are put out as well. */
static uint64_t walk_tree(struct xspace_writer *w, const struct file *f, bool out)
{
	struct text edge = {0};
	uint64_t total = 0;

	for (uint32_t i = f->planes; i; i = w->planes[i - 1].next)
		for (uint32_t place = 0;
		     is_process(w, i - 1) && scopes_next(w, i, &place, &edge);) {
			total += edge.length;
			if (out)
				put(w, &edge);
		}
	text_release(&edge);
	bulk_rest();
	return total;
}

static void put_tree(struct xspace_writer *w, const struct file *f)
{
	put_small(w, XSPACE_SCOPE_TREE, walk_tree(w, f, false));
	walk_tree(w, f, true);
}

/* When it was recorded. */
static void put_environment(struct xspace_writer *w)
{
	int64_t end = w->t->end > w->t->origin ? w->t->end - w->t->origin : 0;
	struct plane p = {0};
	struct text rest = {0};

	property_number(w, &p, "profile_start_time", (uint64_t)w->base);
	property_number(w, &p, "profile_stop_time", (uint64_t)(w->base + end));
	pack_names(w, &p, &rest);
	text_add_bytes(&rest, p.properties.s ? p.properties.s : "", p.properties.length);
	put_small(w, XSPACE_ENVIRONMENT, rest.length);
	put(w, &rest);
	text_release(&rest);
	text_release(&p.properties);
	names_release(&p.stats);
}

static void put_hostname(struct xspace_writer *w, const char *host)
{
	struct names one = {0};
	struct text head = {0};

	if (*host && names_get(&one, &w->scratch, host, strlen(host))) {
		pack_head(&head, 4, strlen(one.texts[0]));
		text_add(&head, one.texts[0]);
		put(w, &head);
	}
	text_release(&head);
	names_release(&one);
}

/* By plane and by file, each in its order. */
static void chain(struct xspace_writer *w)
{
	for (uint32_t i = w->line_count; i-- > 0;)
		if (w->lines[i].plane) {
			w->lines[i].next = w->planes[w->lines[i].plane - 1].lines;
			w->planes[w->lines[i].plane - 1].lines = i + 1;
		}
	for (uint32_t i = w->plane_count; i-- > 0;) {
		w->planes[i].next = w->files[w->planes[i].file].planes;
		w->files[w->planes[i].file].planes = i + 1;
	}
}

/*
 * Readers know one plane by its name, and draw all whose names begin with it: that one is of the first process
 * that did something, before which there may be a launcher.
 */
static void name_first(struct xspace_writer *w, const struct file *f)
{
	uint32_t i = f->planes;

	while (i && (!is_process(w, i - 1) || !w->planes[i - 1].lines))
		i = w->planes[i - 1].next;
	i = i ? i : f->planes;
	if (!i)
		return;
	free(w->planes[i - 1].name);
	w->planes[i - 1].name = strdup(XSPACE_HOST);
	w->failed |= !w->planes[i - 1].name;
}

void planes_finish(struct xspace_writer *w)
{
	scopes_finish(w);
	if (w->failed || !lines_sort(w))
		return;
	chain(w);
	for (uint32_t i = 0; i < w->file_count; i++)
		name_first(w, &w->files[i]);
}

void planes_write(struct xspace_writer *w, const struct file *f)
{
	for (uint32_t i = f->planes; i; i = w->planes[i - 1].next)
		if (w->planes[i - 1].name)
			put_plane(w, i - 1);
	put_tree(w, f);
	put_environment(w);
	put(w, &f->warnings);
	if (w->folder)
		put_hostname(w, f->host);
	for (uint32_t i = 0; i < w->hosts.count && !w->folder; i++)
		put_hostname(w, w->hosts.texts[i]);
}
