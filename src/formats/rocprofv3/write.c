/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV files as rocprofv3 --output-format csv lays them out: a directory with PID_kernel_trace.csv, PID_hip_api_trace.csv
 * and so on for each process, with the columns that scripts look for (rocprofiler-sdk, tool's CSV output). Times
 * are nanoseconds of the node's clock. Calls of runtimes that rocprofv3 does not know have files of their own, named alike.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/plain.h"
#include "base/vec.h"
#include "formats/format.h"
#include "stream/names.h"
#include "stream/output.h"
#include "stream/unplaced.h"

#define KERNEL_COLUMNS                                                                             \
	"\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\","          \
	"\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\","  \
	"\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\","  \
	"\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\","          \
	"\"Grid_Size_Y\",\"Grid_Size_Z\""
#define COPY_COLUMNS                                                                               \
	"\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\","       \
	"\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\""
#define MEMORY_COLUMNS                                                                             \
	"\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\",\"Correlation_Id\","  \
	"\"Start_Timestamp\",\"End_Timestamp\""
#define CALL_COLUMNS                                                                               \
	"\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\","                 \
	"\"Start_Timestamp\",\"End_Timestamp\""
#define AGENT_COLUMNS                                                                              \
	"\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Name\",\"Vendor_Name\","                 \
	"\"Product_Name\",\"Model_Name\""

/* Domains of calls that rocprofv3 has files for, and what it calls them. */
static const struct known {
	const char *domain, *file, *title;
} known[] = {
	{"hip", "hip_api_trace", "HIP_RUNTIME_API"},
	{"hip_compiler", "hip_api_trace", "HIP_COMPILER_API"},
	{"hsa", "hsa_api_trace", "HSA_CORE_API"},
	{"roctx", "marker_api_trace", "MARKER_CORE_API"},
	{"nccl", "rccl_api_trace", "RCCL_API"},
};

struct file {
	struct output out;
	bool open;
};

/* Files are found by their process and name. */
struct writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	const struct trace *t;
	struct file *files;
	uint32_t count, room;
	struct map found;     /* by process and place of the name: number of the file, plus one */
	uint64_t *dispatches; /* of each process so far */
	struct unplaced unplaced;
};

static struct writer *writer(struct stream_sink *s)
{
	return (struct writer *)(void *)s;
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct output *open_file(struct writer *w, uint32_t process, const char *name,
				const char *columns)
{
	char path[4200];
	struct file *f;

	if (!vec_reserve(&w->files, &w->room, w->count, 1))
		return NULL;
	f = &w->files[w->count];
	*f = (struct file){.open = false};
	snprintf(path, sizeof(path), "%s/%u_%s.csv", w->o.output, w->t->processes[process].pid,
		 name);
	if (output_open(&f->out, path, w->o.force, w->o.log) != KYMO_OK)
		return NULL;
	f->open = true;
	w->count++;
	output_text(&f->out, columns);
	output_char(&f->out, '\n');
	return &f->out;
}

/* `name` is of one place for each kind of file. NULL: said why. */
static struct output *file_of(struct writer *w, uint32_t process, uint32_t number, const char *name,
			      const char *columns)
{
	uint64_t key = (uint64_t)number << 32 | process, at = map_get(&w->found, key);
	struct output *o;

	if (at)
		return &w->files[at - 1].out;
	o = open_file(w, process, name, columns);
	return o && map_set(&w->found, key, w->count) ? o : NULL;
}

enum { KERNELS = 1, COPIES, MEMORY, MARKERS, AGENTS, CALLS /* and on, by domain */ };

/* ---- cells ----------------------------------------------------------------------------------- */

static void text(struct output *o, const char *s, size_t n)
{
	output_char(o, '"');
	while (n) {
		uint32_t code;
		size_t bytes = plain_next(s, n, &code);

		if (code & PLAIN_BAD)
			output_text(o, "\xef\xbf\xbd"); /* U+FFFD */
		else if (code < ' ')
			output_char(o, ' ');
		else
			output_put(o, s, bytes);
		if (code == '"')
			output_char(o, '"');
		s += bytes;
		n -= bytes;
	}
	output_text(o, "\",");
}

static void word(struct output *o, const char *s)
{
	text(o, s, strlen(s));
}

static void number(struct output *o, uint64_t v)
{
	output_unsigned(o, v);
	output_char(o, ',');
}

static void times(struct output *o, int64_t start, int64_t end)
{
	output_signed(o, start);
	output_char(o, ',');
	output_signed(o, end);
	output_char(o, ',');
}

static kymo_status_t end_row(struct output *o)
{
	o->used--; /* the comma after the last cell, which is still in the buffer */
	output_char(o, '\n');
	return output_status(o);
}

/* Agents of a process are numbered from 0 on, as rocprofv3 does with --agent-index relative. */
static uint32_t agent_number(const struct writer *w, uint32_t agent)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < agent; i++)
		n += w->t->agents[i].process == w->t->agents[agent].process;
	return n;
}

static void agent(const struct writer *w, struct output *o, uint32_t i)
{
	char label[32] = "";

	if (i)
		snprintf(label, sizeof(label), "Agent %u", agent_number(w, i));
	word(o, i ? label : "CPU 0");
}

/* ---- records --------------------------------------------------------------------------------- */

static void launch_sizes(struct output *o, const struct rec_dispatch *r)
{
	number(o, r->launch.static_shared + r->launch.dynamic_shared);
	number(o, r->launch.local_memory);
	number(o, r->launch.registers);
	number(o, 0);
	number(o, 0);
}

static kymo_status_t on_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct writer *w = writer(s);
	const struct t_kernel *k = &w->t->kernels[r->kernel];
	struct output *o;

	if (!device_timed(&r->device)) {
		unplaced_add(&w->unplaced, "kernels without device times", 1);
		return KYMO_OK;
	}
	o = file_of(w, r->base.process, KERNELS, "kernel_trace", KERNEL_COLUMNS);
	if (!o)
		return KYMO_ERROR_SYSTEM;
	word(o, "KERNEL_DISPATCH");
	agent(w, o, r->agent);
	number(o, w->t->queues[r->queue].number + 1);
	number(o, w->t->queues[r->queue].number);
	number(o, w->t->threads[r->base.thread].tid);
	number(o, ++w->dispatches[r->base.process]);
	number(o, r->kernel);
	word(o, k->name);
	number(o, r->device.correlation);
	times(o, r->device.start, r->device.end);
	launch_sizes(o, r);
	for (int i = 0; i < 3; i++)
		number(o, (uint32_t)i < r->dims ? r->local[i] : 1);
	for (int i = 0; i < 3; i++)
		number(o, (uint32_t)i < r->dims ? r->global[i] : 1);
	return end_row(o);
}

static const char *direction_of(const struct trace *t, const struct rec_copy *r)
{
	static const char *const names[2][2] = {
		{"MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"},
		{"MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE"}};
	bool from = r->source_agent && strcmp(t->agents[r->source_agent].type, "cpu") != 0;
	bool to = r->destination_agent && strcmp(t->agents[r->destination_agent].type, "cpu") != 0;

	return names[from || r->source_kind == MEMORY_DEVICE]
		    [to || r->destination_kind == MEMORY_DEVICE];
}

static kymo_status_t on_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct writer *w = writer(s);
	bool fills = w->t->ops[r->base.op].number == COPY_OP_FILL; /* no direction */
	struct output *o;

	if (fills || !device_timed(&r->device)) {
		unplaced_add(&w->unplaced, fills ? "fills" : "copies without device times", 1);
		return KYMO_OK;
	}
	o = file_of(w, r->base.process, COPIES, "memory_copy_trace", COPY_COLUMNS);
	if (!o)
		return KYMO_ERROR_SYSTEM;
	word(o, "MEMORY_COPY");
	word(o, direction_of(w->t, r));
	number(o, w->t->queues[r->queue].number);
	agent(w, o, r->source_agent);
	agent(w, o, r->destination_agent);
	number(o, r->device.correlation);
	times(o, r->device.start, r->device.end);
	return end_row(o);
}

static kymo_status_t on_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct writer *w = writer(s);
	struct output *o =
		file_of(w, r->base.process, MEMORY, "memory_allocation_trace", MEMORY_COLUMNS);
	bool frees = w->t->ops[r->base.op].number == ALLOCATION_OP_FREE;

	if (!o)
		return KYMO_ERROR_SYSTEM;
	word(o, "MEMORY_ALLOCATION");
	word(o, frees ? "MEMORY_ALLOCATION_FREE" : "MEMORY_ALLOCATION_ALLOCATE");
	agent(w, o, r->agent);
	number(o, r->bytes);
	output_char(o, '"');
	output_hex(o, r->address);
	output_text(o, "\",");
	number(o, r->correlation);
	times(o, r->base.start, r->base.end);
	return end_row(o);
}

static kymo_status_t on_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct writer *w = writer(s);
	struct output *o = file_of(w, r->base.process, MARKERS, "marker_api_trace", CALL_COLUMNS);

	if (!o)
		return KYMO_ERROR_SYSTEM;
	word(o, "MARKER_CORE_RANGE_API");
	text(o, r->text, r->text_length);
	number(o, w->t->processes[r->base.process].pid);
	number(o, w->t->threads[r->base.thread].tid);
	number(o, 0);
	times(o, r->base.start, r->base.end);
	return end_row(o);
}

/* "opencl" is OPENCL_API, in opencl_api_trace. */
static void names_of(const char *domain, char file[64], char title[64])
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(known[i].domain, domain) == 0) {
			snprintf(file, 64, "%s", known[i].file);
			snprintf(title, 64, "%s", known[i].title);
			return;
		}
	}
	snprintf(file, 64, "%.40s_api_trace", domain);
	snprintf(title, 64, "%.40s_API", domain);
	for (char *p = file; *p; p++)
		*p = isalnum((unsigned char)*p) || *p == '_' ? *p : '_';
	for (char *p = title; *p; p++)
		*p = (char)toupper((unsigned char)*p);
}

/* Two domains may share a file: its number is that of the first domain that does. */
static uint32_t file_number(const struct trace *t, uint32_t domain, const char *file)
{
	for (uint32_t i = 1; i < domain; i++) {
		char other[64], title[64];

		names_of(t->domains[i].name, other, title);
		if (strcmp(other, file) == 0)
			return CALLS + i;
	}
	return CALLS + domain;
}

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	struct writer *w = writer(s);
	const struct t_op *op = &w->t->ops[r->op];
	char file[64], title[64];
	struct output *o;
	uint32_t n;

	names_of(w->t->domains[op->domain].name, file, title);
	n = strcmp(file, "marker_api_trace") == 0 ? MARKERS : file_number(w->t, op->domain, file);
	o = file_of(w, r->process, n, file, CALL_COLUMNS);
	if (!o)
		return KYMO_ERROR_SYSTEM;
	word(o, title);
	word(o, op->name);
	number(o, w->t->processes[r->process].pid);
	number(o, w->t->threads[r->thread].tid);
	number(o, r->id);
	times(o, r->start, r->end);
	return end_row(o);
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	unplaced_record(&writer(s)->unplaced, writer(s)->t, r);
	return KYMO_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	struct writer *w = writer(s);

	w->t = t;
	w->dispatches = calloc(t->processes_count, sizeof(*w->dispatches));
	return w->dispatches ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t put_agent(struct writer *w, uint32_t i)
{
	const struct t_agent *a = &w->t->agents[i];
	struct output *o = file_of(w, a->process, AGENTS, "agent_info", AGENT_COLUMNS);

	if (!o)
		return KYMO_ERROR_SYSTEM;
	number(o, agent_number(w, i));
	number(o, agent_number(w, i));
	word(o, strcmp(a->type, "cpu") == 0 ? "CPU" : "GPU");
	word(o, a->name);
	word(o, a->vendor);
	word(o, a->name);
	word(o, a->label);
	return end_row(o);
}

static kymo_status_t close_files(struct writer *w)
{
	kymo_status_t worst = KYMO_OK;

	for (uint32_t i = 0; i < w->count; i++) {
		kymo_status_t status = KYMO_OK;

		if (w->files[i].open)
			status = output_close(&w->files[i].out, w->o.log);
		w->files[i].open = false;
		worst = worst == KYMO_OK ? status : worst;
	}
	return worst;
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct writer *w = writer(s);
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 1; i < t->agents_count && status == KYMO_OK; i++)
		if (strcmp(t->agents[i].type, "nic") != 0 &&
		    strcmp(t->agents[i].type, "other") != 0)
			status = put_agent(w, i);
	unplaced_tell(&w->unplaced, w->o.log, "rocprofv3 has no CSV file for");
	return status == KYMO_OK ? close_files(w) : status;
}

static void rocprofv3_free(struct stream_sink *s)
{
	struct writer *w = writer(s);

	close_files(w);
	free(w->files);
	free(w->dispatches);
	map_release(&w->found);
	free(w);
}

static kymo_status_t rocprofv3_write(const struct format_options *o, struct stream_sink **sink)
{
	kymo_status_t status = output_folder(o->output, o->force, o->log);
	struct writer *w = status == KYMO_OK ? calloc(1, sizeof(*w)) : NULL;

	*sink = NULL;
	if (!w)
		return status == KYMO_OK ? KYMO_ERROR_NO_MEMORY : status;
	w->o = *o;
	w->sink = (struct stream_sink){.begin = on_begin,
				       .call = on_call,
				       .dispatch = on_dispatch,
				       .copy = on_copy,
				       .allocation = on_allocation,
				       .marker = on_marker,
				       .other = on_other,
				       .end = on_end};
	stream_sink_complete(&w->sink);
	*sink = &w->sink;
	return KYMO_OK;
}

extern const struct format format_rocprofv3;
const struct format format_rocprofv3 = {
	.name = "rocprofv3",
	.summary = "a directory of CSV files with rocprofv3's names and columns",
	.suffix = "",
	.write = rocprofv3_write,
	.sink_free = rocprofv3_free,
};
