/* SPDX-License-Identifier: Apache-2.0 */
/* What records refer to, as rows: the node, the process, its threads, queues, kernels and counters. */
#include "formats/rocpd/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <kymo/counter.h>

#include "base/hash.h"
#include "base/json.h"
#include "stream/demangle.h"
#include "stream/names.h"

static const char *or_nothing(const char *s)
{
	return s ? s : "";
}

static bool write_node(struct part *p)
{
	const char *host = or_nothing(p->w->t->processes[p->process].hostname);
	struct row r = row_of(p, "info_node", "id,hash,machine_id,system_name,hostname", 5);

	row_integer(&r, p->node);
	row_integer(&r, (int64_t)(hash_string(host) & INT64_MAX));
	row_text(&r, host); /* what is the machine's own, Kymo does not record */
	row_text(&r, "Linux");
	row_text(&r, host);
	row_add(&r);
	return row_end(&r);
}

static void name_unsigned(struct json *j, const char *name, uint64_t value)
{
	json_name(j, name);
	json_add_unsigned(j, value);
}

static void name_string(struct json *j, const char *name, const char *value)
{
	json_name(j, name);
	json_add_string(j, or_nothing(value));
}

/* What it was in its job, and how it ended. */
static void describe_role(struct json *j, const struct t_process *r)
{
	char end[64];

	json_name(j, "rank");
	if (r->rank == UINT32_MAX)
		json_add_null(j);
	else
		json_add_unsigned(j, r->rank);
	name_string(j, "rank_by", r->rank_by);
	name_unsigned(j, "ranks", r->ranks);
	if (r->of_rank != UINT32_MAX)
		name_unsigned(j, "of_rank", r->of_rank);
	name_string(j, "job", r->job);
	name_string(j, "mpi", r->mpi);
	json_name(j, "thread_level");
	json_add_signed(j, r->thread_level);
	if (r->telemetry)
		name_unsigned(j, "telemetry", 1);
	name_string(j, "end", name_process_end(r, end, sizeof(end)));
	if (r->how_ended == UINT32_MAX)
		return;
	name_unsigned(j, "how_ended", r->how_ended);
	json_name(j, "exit_status");
	json_add_signed(j, r->exit_status);
}

/* Losses and other totals, which have no place elsewhere. */
static void describe_process(struct text *out, const struct t_process *r)
{
	struct json j = {.out = out, .compact = true};
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"lost_records", r->lost_records},
		{"overwritten_records", r->overwritten_records},
		{"lost_definitions", r->lost_definitions},
		{"damaged_blocks", r->damaged_blocks},
		{"untraced_calls", r->untraced_calls},
		{"untimed", r->untimed},
		{"user_ns", r->user_ns},
		{"system_ns", r->system_ns},
		{"resident_bytes", r->resident_bytes},
		{"clock_error_ns", (uint64_t)r->clock_error_ns},
	};

	json_open(&j, '{');
	json_name(&j, "kymo");
	json_open(&j, '{');
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		name_unsigned(&j, numbers[i].name, numbers[i].value);
	name_string(&j, "name", r->name);
	name_string(&j, "exe", r->exe);
	json_name(&j, "realtime_offset_ns");
	json_add_signed(&j, r->realtime_offset);
	describe_role(&j, r);
	json_close(&j);
	json_close(&j);
}

/* Readers want a command, and times that lie around all others. */
static bool write_process(struct part *p)
{
	const struct trace *t = p->w->t;
	const struct t_process *r = &t->processes[p->process];
	const char *command = r->argv && *r->argv ? r->argv
			      : r->exe && *r->exe ? r->exe
						  : "unknown";
	int64_t start = r->start ? r->start : t->origin, end = r->end ? r->end : t->end;
	struct text extdata = {0};
	struct row row = row_of(p, "info_process",
				"id,nid,ppid,pid,init,fini,start,end,command,extdata", 10);

	describe_process(&extdata, r);
	row_integer(&row, p->pid);
	row_integer(&row, p->node);
	row_integer(&row, r->ppid);
	row_integer(&row, r->pid);
	row_integer(&row, start);
	row_integer(&row, end);
	row_integer(&row, start);
	row_integer(&row, end);
	row_text(&row, command);
	row_text(&row, extdata.failed ? "{}" : extdata.s);
	row_add(&row);
	text_release(&extdata);
	return row_end(&row);
}

static void add_thread(struct part *p, struct row *r, int64_t row, const struct t_thread *t)
{
	const struct t_process *of = &p->w->t->processes[p->process];

	row_integer(r, row);
	row_integer(r, p->node);
	row_integer(r, of->ppid);
	row_integer(r, p->pid);
	row_integer(r, t->tid);
	row_text(r, t->name && *t->name ? t->name : NULL);
	t->start ? row_integer(r, t->start) : row_null(r);
	t->end ? row_integer(r, t->end) : row_null(r);
	row_add(r);
}

static bool write_threads(struct part *p)
{
	const struct trace *t = p->w->t;
	const struct t_thread main = {.tid = t->processes[p->process].pid};
	struct row r = row_of(p, "info_thread", "id,nid,ppid,pid,tid,name,start,end", 8);
	bool there = false;

	for (uint32_t i = 1; i < t->threads_count; i++) {
		if (t->threads[i].process != p->process)
			continue;
		add_thread(p, &r, p->w->thread_row[i], &t->threads[i]);
		there |= p->w->thread_row[i] == p->main;
	}
	if (!there)
		add_thread(p, &r, p->main, &main);
	return row_end(&r);
}

/* A queue is both what the runtime has and what a user calls a stream. */
static bool write_queues(struct part *p, const char *table, const char *standard)
{
	const struct trace *t = p->w->t;
	struct row r = row_of(p, table, "id,nid,pid,name", 4);

	for (uint32_t i = 0; i < t->queues_count; i++) {
		if (i && t->queues[i].process != p->process)
			continue;
		row_integer(&r, i);
		row_integer(&r, p->node);
		row_integer(&r, p->pid);
		row_text(&r, i ? t->queues[i].label : standard);
		row_add(&r);
	}
	return row_end(&r);
}

static void add_program(struct part *p, struct row *r, uint32_t i)
{
	const struct trace *t = p->w->t;
	const struct t_program *g = &t->programs[i];
	uint64_t bytes = t->blobs[g->source].total;
	struct text uri = {0}, extdata = {0};
	struct json j = {.out = &extdata, .compact = true};

	text_addf(&uri, "memory://%u#offset=0x%" PRIx64 "&size=%" PRIu64,
		  t->processes[p->process].pid, g->handle, bytes);
	json_open(&j, '{');
	json_name(&j, "size");
	json_add_unsigned(&j, 0);
	json_name(&j, "storage_type");
	json_add_unsigned(&j, 2);
	json_name(&j, "memory_base");
	json_add_unsigned(&j, 0);
	json_name(&j, "memory_size");
	json_add_unsigned(&j, bytes);
	json_name(&j, "domain");
	json_add_string(&j, or_nothing(g->domain));
	json_name(&j, "kind");
	json_add_string(&j, or_nothing(g->kind));
	json_name(&j, "name");
	json_add_string(&j, or_nothing(g->name));
	json_close(&j);
	row_integer(r, i);
	row_integer(r, p->node);
	row_integer(r, p->pid);
	row_integer(r, part_agent(p, 0));
	row_text(r, uri.failed ? "" : uri.s);
	for (unsigned k = 0; k < 3; k++)
		row_integer(r, k == 1 ? (int64_t)bytes : 0);
	row_text(r, "MEMORY");
	row_text(r, extdata.failed ? "{}" : extdata.s);
	row_add(r);
	text_release(&uri);
	text_release(&extdata);
}

/* The first is that of kernels whose program is not known. */
static bool write_programs(struct part *p)
{
	const struct trace *t = p->w->t;
	struct row r = row_of(p, "info_code_object",
			      "id,nid,pid,agent_id,uri,load_base,load_size,load_delta,storage_type,"
			      "extdata",
			      10);

	for (uint32_t i = 0; i < t->programs_count; i++) {
		if (!i || t->programs[i].process == p->process)
			add_program(p, &r, i);
	}
	return row_end(&r);
}

static void describe_kernel(struct text *out, uint32_t i, const char *name, const char *brief,
			    uint64_t handle)
{
	struct json j = {.out = out, .compact = true};

	json_open(&j, '{');
	json_name(&j, "size");
	json_add_unsigned(&j, 0);
	json_name(&j, "kernel_id");
	json_add_unsigned(&j, i);
	json_name(&j, "kernel_code_entry_byte_offset");
	json_add_unsigned(&j, 0);
	json_name(&j, "formatted_kernel_name");
	json_add_string(&j, name);
	json_name(&j, "demangled_kernel_name");
	json_add_string(&j, name);
	json_name(&j, "truncated_kernel_name");
	json_add_string(&j, brief);
	json_name(&j, "kernel_address");
	json_open(&j, '{');
	json_name(&j, "handle");
	json_add_unsigned(&j, handle);
	json_close(&j);
	json_close(&j);
}

static void add_kernel(struct part *p, struct row *r, uint32_t i)
{
	const struct t_kernel *k = &p->w->t->kernels[i];
	const char *name = i ? or_nothing(k->name) : "(unknown kernel)";
	char *written = demangle(name);
	struct text brief = {0}, extdata = {0};

	name_shorten(&brief, written ? written : name);
	describe_kernel(&extdata, i, written ? written : name, brief.s ? brief.s : name, k->handle);
	row_integer(r, i);
	row_integer(r, p->node);
	row_integer(r, p->pid);
	row_integer(r, k->program);
	row_text(r, name);
	row_text(r, written ? written : name);
	row_integer(r, (int64_t)k->handle);
	for (unsigned n = 0; n < 7; n++)
		row_integer(r, 0);
	row_text(r, extdata.failed ? "{}" : extdata.s);
	row_add(r);
	free(written);
	text_release(&brief);
	text_release(&extdata);
}

static bool write_kernels(struct part *p)
{
	const struct trace *t = p->w->t;
	struct row r = row_of(p, "info_kernel_symbol",
			      "id,nid,pid,code_object_id,kernel_name,display_name,kernel_object,"
			      "kernarg_segment_size,kernarg_segment_alignment,group_segment_size,"
			      "private_segment_size,sgpr_count,arch_vgpr_count,accum_vgpr_count,"
			      "extdata",
			      15);

	for (uint32_t i = 0; i < t->kernels_count; i++) {
		if (i ? t->kernels[i].process == p->process : p->unknown_kernel)
			add_kernel(p, &r, i);
	}
	return row_end(&r);
}

static void add_counter(struct part *p, struct row *r, uint32_t i)
{
	const struct trace *t = p->w->t;
	const struct t_counter *c = &t->counters[i];
	bool cpu = !c->agent || strcmp(t->agents[c->agent].type, "cpu") == 0;

	row_integer(r, i);
	row_integer(r, p->node);
	row_integer(r, p->pid);
	row_integer(r, part_agent(p, c->agent));
	row_text(r, cpu ? "CPU" : "GPU");
	row_integer(r, 0);
	row_integer(r, 0);
	row_text(r, c->name);
	row_text(r, c->name);
	row_text(r, or_nothing(c->description));
	row_text(r, or_nothing(c->dimensions));
	row_text(r, or_nothing(c->provider));
	row_text(r, or_nothing(c->unit));
	row_text(r, c->flags & KYMO_COUNTER_GAUGE ? "ABS" : "ACCUM");
	row_text(r, "");
	row_text(r, "");
	row_integer(r, 0);
	row_integer(r, 0);
	row_add(r);
}

static bool write_counters(struct part *p)
{
	const struct trace *t = p->w->t;
	struct row r = row_of(p, "info_pmc",
			      "id,nid,pid,agent_id,target_arch,event_code,instance_id,name,symbol,"
			      "description,long_description,component,units,value_type,block,"
			      "expression,is_constant,is_derived",
			      18);

	for (uint32_t i = 1; i < t->counters_count; i++) {
		if (t->counters[i].process == p->process)
			add_counter(p, &r, i);
	}
	return row_end(&r);
}

/* Other tools ignore tags that they do not know. */
static bool write_metadata(struct part *p)
{
	const struct trace *t = p->w->t;
	const char *const rows[][2] = {{"kymo_version", KYMO_VERSION},
				       {"kymo_command", or_nothing(t->command)},
				       {"kymo_clock", "CLOCK_MONOTONIC_RAW"}};
	struct row r = row_of(p, "metadata", "tag,value", 2);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		row_text(&r, rows[i][0]);
		row_text(&r, rows[i][1]);
		row_add(&r);
	}
	return row_end(&r);
}

bool part_definitions(struct part *p)
{
	return write_node(p) && write_process(p) && write_threads(p) && agents_write(p) &&
	       write_queues(p, "info_queue", "Default Queue") &&
	       write_queues(p, "info_stream", "Default Stream") && write_programs(p) &&
	       write_kernels(p) && write_counters(p) && write_metadata(p);
}
