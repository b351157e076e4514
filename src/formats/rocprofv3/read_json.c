/* SPDX-License-Identifier: Apache-2.0 */
/* The document, value by value: lists of records are as long as the file; see reader.h. */
#include <errno.h>
#include <string.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "base/vec.h"
#include "formats/rocprofv3/reader.h"
#include "stream/source.h"

struct walk {
	struct rp_reader *r;
	struct source s;
	struct text key, scratch, values;
	uint32_t source, process;
};

/* ---- the document's shape -------------------------------------------------------------------- */

/* False: it is no object (list) that begins here, or it is empty; then it is passed. */
static bool enter(struct walk *w, int bracket)
{
	struct span value;

	if (source_peek(&w->s) != bracket) {
		w->r->damaged += !source_value(&w->s, &value);
		return false;
	}
	source_take(&w->s);
	if (source_peek(&w->s) != (bracket == '{' ? '}' : ']'))
		return true;
	source_take(&w->s);
	return false;
}

/* Behind a value: whether another one follows. */
static bool more(struct walk *w)
{
	int c = source_peek(&w->s);

	if (c >= 0)
		source_take(&w->s);
	if (c != ',' && c != '}' && c != ']') {
		w->r->damaged++;
		w->s.ended = true; /* nothing behind it can be told apart */
		w->s.at = w->s.used;
	}
	return c == ',';
}

/* The name of a member, with what is behind its colon next. */
static bool name(struct walk *w)
{
	struct span value;

	if (source_peek(&w->s) != '"' || !source_value(&w->s, &value) ||
	    source_peek(&w->s) != ':') {
		w->r->damaged++;
		w->s.ended = true;
		w->s.at = w->s.used;
		return false;
	}
	source_take(&w->s);
	w->key.length = 0;
	text_add_bytes(&w->key, value.s + 1, value.n - 2);
	text_add_bytes(&w->key, "", 1);
	return !w->key.failed;
}

static void pass_over(struct walk *w)
{
	struct span value;

	w->r->damaged += !source_value(&w->s, &value);
}

typedef void (*take_element)(struct walk *w, struct span value, uint64_t index);

static void each_element(struct walk *w, take_element take)
{
	struct span value;
	uint64_t n = 0;

	if (!enter(w, '['))
		return;
	do {
		if (!source_value(&w->s, &value)) {
			w->r->damaged++;
			return;
		}
		take(w, value, n++);
	} while (more(w) && !w->r->failed);
}

typedef void (*take_member)(struct walk *w, const char *key);

static void each_member(struct walk *w, take_member take)
{
	if (!enter(w, '{'))
		return;
	do {
		if (!name(w))
			return;
		take(w, w->key.s);
	} while (more(w) && !w->r->failed);
}

/* ---- records' members ------------------------------------------------------------------------ */

enum member {
	M_KIND,
	M_OPERATION,
	M_CORRELATION,
	M_START,
	M_END,
	M_THREAD,
	M_STREAM,
	M_DISPATCH,
	M_TO,
	M_FROM,
	M_BYTES,
	M_AGENT,
	M_ADDRESS,
	M_SIZE,
	M_ARGUMENTS,
	M_RETVAL,
	M_DATA,
	M_RECORDS,
	MEMBERS
};

static const char *const member_names[MEMBERS] = {
	"kind",      "operation",     "correlation_id", "start_timestamp", "end_timestamp",
	"thread_id", "stream_id",     "dispatch_info",  "dst_agent_id",    "src_agent_id",
	"bytes",     "agent_id",      "address",        "allocation_size", "args",
	"retval",    "dispatch_data", "records"};

/* A record's members, looked at once: they are long, and many. */
struct members {
	struct span at[MEMBERS];
	bool is_object;
};

static struct members split(struct span record)
{
	struct members m;
	struct span key, value;
	struct span_walk w;

	for (int i = 0; i < MEMBERS; i++)
		m.at[i] = (struct span){"", 0};
	m.is_object = span_object(record, &w);
	while (m.is_object && span_member(&w, &key, &value))
		for (int i = 0; i < MEMBERS; i++)
			if (span_is(key, member_names[i])) {
				m.at[i] = value;
				break;
			}
	return m;
}

static uint64_t own_number(const struct members *m, enum member i)
{
	uint64_t v;

	return m->at[i].n && span_unsigned(m->at[i], &v) ? v : 0;
}

static int64_t own_time(const struct members *m, enum member i)
{
	int64_t v;

	return m->at[i].n && span_signed(m->at[i], &v) ? v : 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t number(struct span object, const char *key)
{
	struct span value;
	uint64_t v;

	return span_find(object, key, &value) && span_unsigned(value, &v) ? v : 0;
}

static uint64_t own_handle(const struct members *m, enum member i)
{
	return m->at[i].n ? number(m->at[i], "handle") : 0;
}

static int64_t time_at(struct span object, const char *key)
{
	struct span value;
	int64_t v;

	return span_find(object, key, &value) && span_signed(value, &v) ? v : 0;
}

static uint64_t handle(struct span object, const char *key)
{
	struct span value;

	return span_find(object, key, &value) ? number(value, "handle") : 0;
}

static uint32_t string(struct walk *w, struct span object, const char *key)
{
	struct span value, text;

	if (!span_find(object, key, &value) || !span_string(value, &w->scratch, &text))
		return 0;
	return rp_text(w->r, text.s, text.n);
}

static struct rp_ref device(struct span object, const char *key)
{
	uint64_t h = handle(object, key);

	return (struct rp_ref){.number = h, .by = h ? BY_HANDLE : BY_NONE};
}

static struct rp_ref own_device(const struct members *m, enum member i)
{
	uint64_t h = own_handle(m, i);

	return (struct rp_ref){.number = h, .by = h ? BY_HANDLE : BY_NONE};
}

static void ids(struct rp_row *row, struct span value)
{
	if (!value.n)
		return;
	row->correlation = number(value, "internal");
	row->external = number(value, "external");
}

static uint64_t in_source(const struct walk *w, uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(hash_u64(w->source), a), b);
}

static struct rp_row begin_row(struct walk *w, const struct members *m, enum rp_row_kind what)
{
	struct rp_row row = {.what = (uint8_t)what, .source = w->source};

	row.kind = (uint32_t)own_number(m, M_KIND);
	row.operation = (uint32_t)own_number(m, M_OPERATION);
	row.stream = own_handle(m, M_STREAM);
	ids(&row, m->at[M_CORRELATION]);
	w->r->sources[w->source].streams |= row.stream != 0;
	return row;
}

static void add(struct walk *w, struct rp_row *row, enum assembly_kind kind,
		const struct members *m, const struct text *values)
{
	if (!w->process)
		w->process = rp_process(w->r, w->source, 0);
	if (m->is_object)
		rp_add_row(w->r, row, kind, w->process, own_number(m, M_THREAD),
			   own_time(m, M_START), own_time(m, M_END), values);
	else
		w->r->unread++;
}

/* ---- records --------------------------------------------------------------------------------- */

static void add_argument(struct walk *w, struct span argument)
{
	struct span value, text;

	if (w->values.length > 3000)
		return;
	if (w->values.length)
		text_add(&w->values, ", ");
	if (span_find(argument, "name", &value) && span_string(value, &w->scratch, &text))
		text_add_bytes(&w->values, text.s, text.n < 255 ? text.n : 255);
	text_add(&w->values, "=");
	if (span_find(argument, "value", &value) && span_string(value, &w->scratch, &text))
		text_add_bytes(&w->values, text.s, text.n < 1024 ? text.n : 1024);
}

static void take_call(struct walk *w, struct span record, uint64_t index)
{
	const struct members m = split(record);
	struct rp_row row = begin_row(w, &m, ROW_CALL);
	struct span list, each;
	struct span_walk s;

	(void)index;
	row.stream = 0;
	w->values.length = 0;
	if (span_array(m.at[M_ARGUMENTS], &s))
		while (span_element(&s, &each))
			add_argument(w, each);
	if (span_object(m.at[M_RETVAL], &s) && span_member(&s, &each, &list))
		row.has_status = span_signed(list, &row.status);
	add(w, &row, ASSEMBLY_CALL, &m, w->values.length ? &w->values : NULL);
}

static void sizes(struct span info, const char *key, uint64_t out[3])
{
	static const char *const names[] = {"x", "y", "z"};
	struct span value;

	for (int i = 0; i < 3 && span_find(info, key, &value); i++)
		out[i] = number(value, names[i]);
}

static void take_info(struct rp_row *row, struct span info)
{
	row->agent = device(info, "agent_id");
	row->queue = handle(info, "queue_id");
	row->kernel = number(info, "kernel_id");
	row->dispatch = number(info, "dispatch_id");
	row->scratch = number(info, "private_segment_size");
	row->shared = number(info, "group_segment_size");
	sizes(info, "workgroup_size", row->group);
	sizes(info, "grid_size", row->grid);
}

static void take_kernel(struct walk *w, struct span record, uint64_t index)
{
	const struct members m = split(record);
	struct rp_row row = begin_row(w, &m, ROW_KERNEL);

	(void)index;
	w->r->sources[w->source].kernels = true;
	take_info(&row, m.at[M_DISPATCH]);
	add(w, &row, ASSEMBLY_WORK, &m, NULL);
}

static void take_copy(struct walk *w, struct span record, uint64_t index)
{
	const struct members m = split(record);
	struct rp_row row = begin_row(w, &m, ROW_COPY);

	(void)index;
	row.agent = own_device(&m, M_TO);
	row.from = own_device(&m, M_FROM);
	row.bytes = own_number(&m, M_BYTES);
	add(w, &row, ASSEMBLY_WORK, &m, NULL);
}

static void take_memory(struct walk *w, struct span record, uint64_t index)
{
	const struct members m = split(record);
	struct rp_row row = begin_row(w, &m, ROW_MEMORY);

	(void)index;
	row.agent = own_device(&m, M_AGENT);
	row.bytes = own_number(&m, M_SIZE);
	row.address = own_number(&m, M_ADDRESS);
	add(w, &row, ASSEMBLY_WORK, &m, NULL);
}

/* Whether it is a call or a marker says its kind, which may come later. */
static void take_marker(struct walk *w, struct span record, uint64_t index)
{
	const struct members m = split(record);
	struct rp_row row = begin_row(w, &m, ROW_MARKER);

	(void)index;
	add(w, &row, ASSEMBLY_RANGE, &m, NULL);
}

static void take_value(struct walk *w, struct rp_row row, struct span value, int64_t end)
{
	struct span v;

	row.what = ROW_COUNTER;
	row.counter = (uint32_t)handle(value, "counter_id");
	if (span_find(value, "value", &v) && span_real(v, &row.value))
		rp_add_row(w->r, &row, ASSEMBLY_WORK, w->process, UINT64_MAX, end, end, NULL);
	else
		unplaced_add(&w->r->left_out, "counters without a value", 1);
}

static void take_counted(struct walk *w, struct span record, uint64_t index)
{
	const struct members m = split(record), data = split(m.at[M_DATA]);
	struct rp_row row = begin_row(w, &m, ROW_KERNEL);
	struct span each;
	struct span_walk s;
	uint64_t key;

	(void)index;
	if (!data.is_object) {
		w->r->unread++;
		return;
	}
	ids(&row, data.at[M_CORRELATION]);
	take_info(&row, data.at[M_DISPATCH]);
	if (!w->process)
		w->process = rp_process(w->r, w->source, 0);
	key = in_source(w, 1, row.dispatch);
	if (!map_get(&w->r->seen_kernels, key)) {
		if (!bulk_map_set(&w->r->seen_kernels, key, 1))
			w->r->failed = true;
		row.of_counters = true;
		rp_add_row(w->r, &row, ASSEMBLY_WORK, w->process, own_number(&m, M_THREAD),
			   own_time(&data, M_START), own_time(&data, M_END), NULL);
		row.of_counters = false;
	}
	if (span_array(m.at[M_RECORDS], &s))
		while (span_element(&s, &each))
			take_value(w, row, each, own_time(&data, M_END));
}

static void count_scratch(struct walk *w, struct span record, uint64_t index)
{
	(void)record;
	(void)index;
	unplaced_add(&w->r->left_out, "scratch memory", 1);
}

static void count_sample(struct walk *w, struct span record, uint64_t index)
{
	(void)record;
	(void)index;
	unplaced_add(&w->r->left_out, "samples of kernels' instructions", 1);
}

static void count_other(struct walk *w, struct span record, uint64_t index)
{
	(void)record;
	(void)index;
	unplaced_add(&w->r->left_out, "records of kinds that are not known", 1);
}

static bool ends_with(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && strcmp(s + n - m, with) == 0;
}

static void take_records(struct walk *w, const char *key)
{
	static const struct {
		const char *name;
		take_element take;
	} lists[] = {{"kernel_dispatch", take_kernel},      {"memory_copy", take_copy},
		     {"memory_allocation", take_memory},    {"marker_api", take_marker},
		     {"counter_collection", take_counted},  {"scratch_memory", count_scratch},
		     {"pc_sample_host_trap", count_sample}, {"pc_sample_stochastic", count_sample}};

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (strcmp(key, lists[i].name) == 0) {
			each_element(w, lists[i].take);
			return;
		}
	each_element(w, ends_with(key, "_api") ? take_call : count_other);
}

/* ---- what records refer to ------------------------------------------------------------------- */

static void take_agent(struct walk *w, struct span value, uint64_t index)
{
	struct rp_agent a = {.source = w->source};

	(void)index;
	a.handle = handle(value, "id");
	a.gpu = number(value, "type") == 2;
	a.node = number(value, "node_id");
	a.logical = number(value, "logical_node_id");
	a.name = string(w, value, "product_name");
	a.name = a.name ? a.name : string(w, value, "name");
	a.vendor = string(w, value, "vendor_name");
	a.label = string(w, value, "name");
	rp_add_agent(w->r, a);
}

static void add_symbol(struct walk *w, uint64_t what, uint64_t id, struct rp_symbol s)
{
	struct rp_reader *r = w->r;
	uint64_t key = in_source(w, what, id);

	if (map_get(&r->found_symbols, key)) {
		unplaced_add(&r->left_out, "names of a number that has one", 1);
		return;
	}
	if (!vec_reserve(&r->symbols, &r->symbol_room, r->symbol_count, 1) ||
	    !map_set(&r->found_symbols, key, r->symbol_count + 1)) {
		r->failed = true;
		return;
	}
	r->symbols[r->symbol_count++] = s;
}

static void take_symbol(struct walk *w, struct span value, uint64_t index)
{
	struct rp_symbol s = {.registers = number(value, "arch_vgpr_count")};

	(void)index;
	s.symbol = string(w, value, "kernel_name");
	s.name = string(w, value, "formatted_kernel_name");
	s.name = s.name ? s.name : s.symbol;
	if (s.name == s.symbol)
		s.symbol = 0;
	if (s.name)
		add_symbol(w, 0, number(value, "kernel_id"), s);
}

static void take_counter(struct walk *w, struct span value, uint64_t index)
{
	struct rp_symbol s = {.name = string(w, value, "name"),
			      .symbol = string(w, value, "description")};

	(void)index;
	add_symbol(w, 1, handle(value, "id"), s);
}

/* A name without letters is none. */
static void set_name(struct walk *w, struct map *names, uint64_t key, uint32_t string)
{
	if (string && !map_set(names, key, string))
		w->r->failed = true;
}

/* "kind" and "operations", by number. */
static void take_kind(struct walk *w, struct span value, uint64_t index)
{
	struct span list, each, text;
	struct span_walk s;
	uint64_t n = 0;

	set_name(w, &w->r->kinds, in_source(w, 0, index), string(w, value, "kind"));
	if (!span_find(value, "operations", &list) || !span_array(list, &s))
		return;
	for (; span_element(&s, &each); n++)
		if (span_string(each, &w->scratch, &text))
			set_name(w, &w->r->operations, in_source(w, index, n),
				 rp_text(w->r, text.s, text.n));
}

static void take_text(struct walk *w, struct span value, uint64_t index)
{
	uint32_t text = string(w, value, "value");

	(void)index;
	if (!map_set(&w->r->texts, in_source(w, 2, number(value, "key")), text + UINT64_C(1)))
		w->r->failed = true;
}

static void take_strings(struct walk *w, const char *key)
{
	if (strcmp(key, "buffer_records") == 0)
		each_element(w, take_kind);
	else if (strcmp(key, "marker_api") == 0)
		each_element(w, take_text);
	else
		pass_over(w);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void take_metadata(struct walk *w)
{
	struct rp_source *s = &w->r->sources[w->source];
	struct span value, node, each, text;
	struct span_walk words;
	uint64_t pid;

	if (!source_value(&w->s, &value)) {
		w->r->damaged++;
		return;
	}
	pid = number(value, "pid");
	s->pid = pid <= UINT32_MAX ? (uint32_t)pid : 0;
	s->start = time_at(value, "init_time");
	s->end = time_at(value, "fini_time");
	if (span_find(value, "node", &node))
		s->host = string(w, node, "hostname");
	w->values.length = 0;
	if (!span_find(value, "command", &node) || !span_array(node, &words))
		return;
	while (span_element(&words, &each) && w->values.length < 4000) {
		if (!span_string(each, &w->scratch, &text))
			continue;
		if (w->values.length)
			text_add(&w->values, " ");
		text_add_bytes(&w->values, text.s, text.n < 4000 ? text.n : 4000);
	}
	if (w->values.length)
		s->command = rp_text(w->r, w->values.s, w->values.length);
}

/* Where it comes behind records, the process is there already. */
static void name_process(struct walk *w)
{
	const struct rp_source *s = &w->r->sources[w->source];

	if (w->process)
		w->r->t->processes[w->process].pid = s->pid;
	else
		w->process = rp_process(w->r, w->source, s->pid);
}

static void take_part(struct walk *w, const char *key)
{
	if (strcmp(key, "metadata") == 0) {
		take_metadata(w);
		name_process(w);
	} else if (strcmp(key, "agents") == 0)
		each_element(w, take_agent);
	else if (strcmp(key, "counters") == 0)
		each_element(w, take_counter);
	else if (strcmp(key, "strings") == 0)
		each_member(w, take_strings);
	else if (strcmp(key, "kernel_symbols") == 0)
		each_element(w, take_symbol);
	else if (strcmp(key, "buffer_records") == 0 || strcmp(key, "callback_records") == 0)
		each_member(w, take_records);
	else
		pass_over(w);
}

static void take_process(struct walk *w)
{
	struct rp_reader *r = w->r;

	w->source = rp_source(r, hash_mix(hash_string(r->path), r->source_count + UINT64_C(1)));
	w->process = 0;
	if (!r->failed)
		each_member(w, take_part);
}

static void take_top(struct walk *w, const char *key)
{
	if (strcmp(key, "rocprofiler-sdk-tool") != 0) {
		pass_over(w);
		return;
	}
	if (source_peek(&w->s) != '[') {
		take_process(w);
		return;
	}
	if (!enter(w, '['))
		return;
	do
		take_process(w);
	while (more(w) && !w->r->failed);
}

bool rp_json_probe(const char *path)
{
	static const char key[] = "\"rocprofiler-sdk-tool\"";
	struct span value;
	struct source s;
	bool is = false;

	if (source_open(&s, path) && source_peek(&s) == '{') {
		source_take(&s);
		is = source_peek(&s) == '"' && source_value(&s, &value) && span_is(value, key);
	}
	source_close(&s);
	return is;
}

bool rp_read_json(struct rp_reader *r, const char *path)
{
	struct walk w = {.r = r};

	if (!source_open(&w.s, path)) {
		stream_error(r->o->log, "%s: %s", path, strerror(errno));
		source_close(&w.s);
		return false;
	}
	each_member(&w, take_top);
	r->unread += w.s.too_large;
	if (w.s.broken)
		stream_warn(r->o->log, "%s: %s", path, w.s.broken);
	source_close(&w.s);
	text_release(&w.key);
	text_release(&w.scratch);
	text_release(&w.values);
	return true;
}
