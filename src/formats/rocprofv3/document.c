/* SPDX-License-Identifier: Apache-2.0 */
/* The document of all processes: what records refer to, then their lists, one process after the other. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/rocprofv3/document.h"
#include "stream/amd_agent.h"
#include "stream/names.h"

/* Of a process, built in memory: its length is that of the definitions. */
static void add_word(struct json *j, const char *name, const char *value)
{
	json_name(j, name);
	json_add_string(j, value ? value : "");
}

static void add_number(struct json *j, const char *name, uint64_t value)
{
	json_name(j, name);
	json_add_unsigned(j, value);
}

static void add_handle(struct json *j, const char *name, uint64_t value)
{
	json_name(j, name);
	json_open(j, '{');
	add_number(j, "handle", value);
	json_close(j);
}

static void add_empty(struct json *j, const char *name)
{
	json_name(j, name);
	json_open(j, '[');
	json_close(j);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void add_node(struct json *j, const struct t_process *p)
{
	json_name(j, "node");
	json_open(j, '{');
	add_number(j, "id", 0);
	add_number(j, "hash", 0);
	add_word(j, "machine_id", "");
	add_word(j, "system_name", "Linux");
	add_word(j, "hostname", p->hostname);
	add_word(j, "release", "");
	add_word(j, "version", "");
	add_word(j, "hardware_name", "");
	add_word(j, "domain_name", "");
	json_close(j);
}

static void add_config(struct json *j)
{
	static const char *const off[] = {"csv_output",     "pftrace_output", "otf2_output",
					  "summary_output", "rocpd_output",   "kernel_rename",
					  "group_by_queue"};
	static const char *const words[] = {"output_path",     "output_file",
					    "tmp_directory",   "raw_output_path",
					    "raw_output_file", "raw_tmp_directory"};

	json_name(j, "config");
	json_open(j, '{');
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		add_word(j, words[i], "");
	json_name(j, "json_output");
	json_add_bool(j, true);
	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++) {
		json_name(j, off[i]);
		json_add_bool(j, false);
	}
	json_close(j);
}

/* The command is a list of words; of what is known one. */
static void add_metadata(struct json *j, const struct trace *t, uint32_t process)
{
	const struct t_process *p = &t->processes[process];

	json_name(j, "metadata");
	json_open(j, '{');
	add_node(j, p);
	add_number(j, "pid", p->pid);
	json_name(j, "init_time");
	json_add_signed(j, p->start ? p->start : t->origin);
	json_name(j, "fini_time");
	json_add_signed(j, p->end ? p->end : t->end);
	json_name(j, "command");
	json_open(j, '[');
	json_add_string(j, p->argv && *p->argv ? p->argv : name_program(p));
	json_close(j);
	add_config(j);
	json_close(j);
}

/* ---- what records refer to ------------------------------------------------------------------- */

static void add_agent(struct json *j, const struct rp_writer *w, uint32_t i)
{
	const struct t_agent *a = &w->t->agents[i];
	bool cpu = !i || strcmp(a->type, "cpu") == 0;
	uint32_t number = w->numbers.agents[i];

	json_open(j, '{');
	add_number(j, "size", 312);
	add_handle(j, "id", rp_agent_handle(w, i));
	add_number(j, "type", cpu ? 1 : 2);
	amd_agent_values(j);
	add_word(j, "name", i ? a->name : "CPU");
	add_word(j, "vendor_name", i ? a->vendor : "");
	add_word(j, "product_name", i ? a->name : "CPU");
	add_word(j, "model_name", i ? a->label : "");
	add_number(j, "node_id", number);
	add_number(j, "logical_node_id", number);
	add_number(j, "logical_node_type_id", number ? number - 1 : 0);
	amd_agent_lists(j);
	json_name(j, "gpu_index");
	json_add_signed(j, cpu ? -1 : (int64_t)number - 1);
	json_close(j);
}

static void add_agents(struct json *j, const struct rp_writer *w, uint32_t process)
{
	json_name(j, "agents");
	json_open(j, '[');
	add_agent(j, w, 0);
	for (uint32_t i = 1; i < w->t->agents_count; i++)
		if (w->t->agents[i].process == process && w->numbers.agents[i])
			add_agent(j, w, i);
	json_close(j);
}

static void add_counter(struct json *j, const struct rp_writer *w, uint32_t i)
{
	const struct t_counter *c = &w->t->counters[i];

	json_open(j, '{');
	add_handle(j, "agent_id", rp_agent_handle(w, c->agent));
	add_handle(j, "id", w->numbers.counters[i]);
	add_number(j, "is_constant", 0);
	add_number(j, "is_derived", 0);
	add_word(j, "name", c->name);
	add_word(j, "description", c->description);
	add_word(j, "block", "");
	add_word(j, "expression", "");
	add_empty(j, "dimensions");
	add_empty(j, "instances");
	json_close(j);
}

static void add_counters(struct json *j, const struct rp_writer *w, uint32_t process)
{
	json_name(j, "counters");
	json_open(j, '[');
	for (uint32_t i = 1; i < w->t->counters_count; i++)
		if (w->t->counters[i].process == process)
			add_counter(j, w, i);
	json_close(j);
}

static void add_words(struct json *j, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_add_string(j, words[i]);
}

/* Operations of a kind, by their number. */
static void add_operations(struct json *j, const struct rp_writer *w, uint32_t kind)
{
	static const char *const kernels[] = {"KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE",
					      "KERNEL_DISPATCH_COMPLETE"};
	static const char *const ranges[] = {"roctxMarkA", "roctxThreadRangeA",
					     "roctxProcessRangeA", "roctxGetThreadId"};

	if (kind == KIND_COPY)
		add_words(j, rp_directions, DIRECTIONS);
	else if (kind == KIND_KERNEL)
		add_words(j, kernels, 3);
	else if (kind == KIND_MEMORY)
		add_words(j, rp_memory_ops, 5);
	else if (kind == KIND_MARKER_RANGE)
		add_words(j, ranges, 4);
	for (uint32_t i = 1; i < w->t->ops_count; i++)
		if (w->numbers.kinds[i] == kind)
			json_add_string(j, w->t->ops[i].name);
}

static void add_kinds(struct json *j, const struct rp_writer *w, const char *name)
{
	char room[64];

	json_name(j, name);
	json_open(j, '[');
	for (uint32_t i = 0; i < w->numbers.kinds_count; i++) {
		json_open(j, '{');
		add_word(j, "kind", rp_kind_name(&w->numbers, i, room));
		json_name(j, "operations");
		json_open(j, '[');
		add_operations(j, w, i);
		json_close(j);
		json_close(j);
	}
	json_close(j);
}

/* "void f<int>(float*)" is "f". */
static void truncated(const char *name, struct text *out)
{
	size_t n = strcspn(name, "(<");
	size_t from = n;

	while (from && name[from - 1] != ' ')
		from--;
	out->length = 0;
	text_add_bytes(out, name + from, n - from);
	if (out->length == 0)
		text_add(out, name);
}

static void add_names(struct json *j, const char *formatted, struct text *scratch)
{
	truncated(formatted, scratch);
	add_word(j, "formatted_kernel_name", formatted);
	add_word(j, "demangled_kernel_name", formatted);
	add_word(j, "truncated_kernel_name", scratch->s);
}

static void add_kernel(struct json *j, const struct rp_writer *w, uint32_t i, struct text *scratch)
{
	static const char *const last[] = {"kernel_code_entry_byte_offset"};
	const struct t_kernel *k = &w->t->kernels[i];
	const struct rec_launch *l = &w->launches[i];

	json_open(j, '{');
	add_number(j, "size", 88);
	add_number(j, "kernel_id", w->numbers.kernels[i]);
	add_number(j, "code_object_id", 0);
	add_word(j, "kernel_name", k->symbol && *k->symbol ? k->symbol : k->name);
	add_number(j, "kernel_object", i ? k->handle : 0);
	add_number(j, "kernarg_segment_size", 0);
	add_number(j, "kernarg_segment_alignment", 0);
	add_number(j, "group_segment_size", l->static_shared);
	add_number(j, "private_segment_size", l->local_memory);
	add_number(j, "sgpr_count", 0);
	add_number(j, "arch_vgpr_count", l->registers);
	add_number(j, "accum_vgpr_count", 0);
	add_number(j, last[0], 0);
	add_handle(j, "kernel_address", i ? k->handle : 0);
	add_names(j, i ? k->name : "", scratch);
	json_close(j);
}

/* Found by their number, which is their place. */
static void add_kernels(struct json *j, const struct rp_writer *w, uint32_t process)
{
	struct text scratch = {0};

	json_name(j, "kernel_symbols");
	json_open(j, '[');
	add_kernel(j, w, 0, &scratch);
	for (uint32_t i = 1; i < w->t->kernels_count; i++)
		if (w->t->kernels[i].process == process)
			add_kernel(j, w, i, &scratch);
	json_close(j);
	j->out->failed |= scratch.failed;
	text_release(&scratch);
}

/* ---- the document ---------------------------------------------------------------------------- */

static kymo_status_t put_text(struct rp_writer *w, struct text *x)
{
	bool failed = x->failed;

	if (!failed)
		output_put(&w->out, x->s, x->length);
	text_release(x);
	return failed ? KYMO_ERROR_NO_MEMORY : output_status(&w->out);
}

/* Up to the texts of markers, which may be many. */
static kymo_status_t put_head(struct rp_writer *w, uint32_t process)
{
	struct text x = {0};
	struct json j = {.out = &x, .compact = true};

	json_open(&j, '{');
	add_metadata(&j, w->t, process);
	add_agents(&j, w, process);
	add_counters(&j, w, process);
	json_name(&j, "strings");
	json_open(&j, '{');
	add_kinds(&j, w, "callback_records");
	add_kinds(&j, w, "buffer_records");
	return put_text(w, &x);
}

static kymo_status_t put_list(struct rp_writer *w, uint32_t process, uint32_t list,
			      const struct rp_form *form, const char *name, bool later)
{
	if (later)
		output_char(&w->out, ',');
	output_json(&w->out, name);
	output_text(&w->out, ":[");
	if (rp_put_list(w, process, list, form, &w->out) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	output_char(&w->out, ']');
	return output_status(&w->out);
}

static kymo_status_t put_symbols(struct rp_writer *w, uint32_t process)
{
	struct text x = {0};
	struct json j = {.out = &x, .compact = true};

	json_open(&j, '{');
	add_empty(&j, "code_objects");
	add_kernels(&j, w, process);
	add_empty(&j, "host_functions");
	json_close(&j);
	if (!x.failed) { /* members of the process, not an object */
		x.s[0] = ',';
		x.length--;
	}
	return put_text(w, &x);
}

static void put_stat(struct output *o, const struct rp_stat *s)
{
	char digits[400];

	snprintf(digits, sizeof(digits),
		 "\"count\":%llu,\"sum\":%llu,\"sqr\":%.0f,\"min\":%llu,\"max\":%llu",
		 (unsigned long long)s->count, (unsigned long long)s->sum, s->squares,
		 (unsigned long long)s->min, (unsigned long long)s->max);
	output_text(o, digits);
	output_text(o, ",\"mean\":");
	rp_json_real(o, (double)s->sum / (double)s->count);
	output_text(o, ",\"stddev\":");
	rp_json_real(o, sqrt(rp_stat_variance(s)));
	output_text(o, ",\"variance\":");
	rp_json_real(o, rp_stat_variance(s));
}

static void put_operations(struct output *o, const struct rp_stat *s, uint32_t count)
{
	output_text(o, ",\"operations\":[");
	for (uint32_t i = 0; i < count; i++) {
		output_text(o, i ? ",{\"key\":" : "{\"key\":");
		output_json(o, s[i].name);
		output_text(o, ",\"value\":{");
		put_stat(o, &s[i]);
		output_text(o, "}}");
	}
	output_char(o, ']');
}

static void put_summary(struct rp_writer *w, uint32_t process)
{
	const struct rp_stats *all = &w->stats;
	bool later = false;
	char room[64];

	output_text(&w->out, ",\"summary\":[");
	for (uint32_t i = 0, n; i < all->count; i += n) {
		for (n = 1; i + n < all->count && all->at[i + n].name; n++)
			;
		if (all->at[i].process != process)
			continue;
		output_text(&w->out, later ? ",{\"domain\":" : "{\"domain\":");
		output_json(&w->out, rp_list_title(&w->numbers, all->at[i].list, room));
		output_text(&w->out, ",\"stats\":{");
		put_stat(&w->out, &all->at[i]);
		put_operations(&w->out, &all->at[i + 1], n - 1);
		output_text(&w->out, "}}");
		later = true;
	}
	output_char(&w->out, ']');
}

static kymo_status_t put_records(struct rp_writer *w, uint32_t process)
{
	uint32_t lists = LISTS + w->t->domains_count;
	kymo_status_t status;
	char room[64];

	output_text(&w->out, ",\"callback_records\":{");
	status = put_list(w, process, LIST_COUNTERS, &rp_json, "counter_collection", false);
	output_text(&w->out, "},\"buffer_records\":{");
	for (uint32_t i = 0; i < lists && status == KYMO_OK; i++) {
		if (i >= LIST_COUNTERS && i < LISTS)
			continue;
		if (i >= LISTS && !map_get(&w->found, (uint64_t)i << 32 | process))
			continue;
		status = put_list(w, process, i, &rp_json, rp_list_name(&w->numbers, i, room),
				  i > 0);
	}
	output_text(&w->out, "}}");
	return status;
}

static kymo_status_t put_process(struct rp_writer *w, uint32_t process)
{
	kymo_status_t status = put_head(w, process);

	if (status == KYMO_OK)
		status = put_list(w, process, LIST_MARKERS, &rp_json_texts, "marker_api", true);
	output_text(&w->out, ",\"correlation_id\":{\"external\":[]},\"counters\":{\"dimension_"
			     "ids\":[]},\"pc_sample_instructions\":[],\"pc_sample_comments\":[],"
			     "\"att_filenames\":[],\"code_object_snapshot_filenames\":[]}");
	if (status == KYMO_OK)
		status = put_symbols(w, process);
	if (status != KYMO_OK)
		return status;
	put_summary(w, process);
	return put_records(w, process);
}

kymo_status_t rp_json_finish(struct rp_writer *w)
{
	kymo_status_t status = KYMO_OK;
	bool later = false;

	output_text(&w->out, "{\"rocprofiler-sdk-tool\":[");
	for (uint32_t i = 1; i < w->t->processes_count && status == KYMO_OK; i++) {
		if (w->t->processes[i].telemetry)
			continue;
		output_text(&w->out, later ? ",\n" : "\n");
		status = put_process(w, i);
		later = true;
	}
	output_text(&w->out, "]}\n");
	if (status != KYMO_OK)
		return status;
	return output_close(&w->out, w->o.log);
}
