/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV files as rocprofv3 --output-format csv --stats lays them out: a directory with PID_kernel_trace.csv,
 * PID_hip_api_trace.csv and so on for each process, with the columns that scripts look for. Calls of runtimes that
 * rocprofv3 does not know have files of their own, named alike.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/plain.h"
#include "formats/rocprofv3/writer.h"

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
	"\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Cpu_Cores_Count\","                      \
	"\"Simd_Count\",\"Cpu_Core_Id_Base\",\"Simd_Id_Base\",\"Max_Waves_Per_Simd\","             \
	"\"Lds_Size_In_Kb\",\"Gds_Size_In_Kb\",\"Num_Gws\",\"Wave_Front_Size\","                   \
	"\"Num_Xcc\",\"Cu_Count\",\"Array_Count\",\"Num_Shader_Banks\","                           \
	"\"Simd_Arrays_Per_Engine\",\"Cu_Per_Simd_Array\",\"Simd_Per_Cu\","                        \
	"\"Max_Slots_Scratch_Cu\",\"Gfx_Target_Version\",\"Vendor_Id\",\"Device_Id\","             \
	"\"Location_Id\",\"Domain\",\"Drm_Render_Minor\",\"Num_Sdma_Engines\","                    \
	"\"Num_Sdma_Xgmi_Engines\",\"Num_Sdma_Queues_Per_Engine\",\"Num_Cp_Queues\","              \
	"\"Max_Engine_Clk_Ccompute\",\"Max_Engine_Clk_Fcompute\",\"Sdma_Fw_Version\","             \
	"\"Fw_Version\",\"Capability\",\"Cu_Per_Engine\",\"Max_Waves_Per_Cu\","                    \
	"\"Family_Id\",\"Workgroup_Max_Size\",\"Grid_Max_Size\",\"Local_Mem_Size\","               \
	"\"Hive_Id\",\"Gpu_Id\",\"Workgroup_Max_Dim_X\",\"Workgroup_Max_Dim_Y\","                  \
	"\"Workgroup_Max_Dim_Z\",\"Grid_Max_Dim_X\",\"Grid_Max_Dim_Y\","                           \
	"\"Grid_Max_Dim_Z\",\"Name\",\"Vendor_Name\",\"Product_Name\",\"Model_Name\""
#define COUNTER_COLUMNS                                                                            \
	"\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\","             \
	"\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\","            \
	"\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\","                 \
	"\"SGPR_Count\",\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\","                   \
	"\"End_Timestamp\""
#define STATS_COLUMNS                                                                              \
	"\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\","           \
	"\"MaxNs\",\"StdDev\""

/* Numbers of a device that its vendor alone knows: they are 0. */
enum { AGENT_NUMBERS = 46 };

/* ---- cells ----------------------------------------------------------------------------------- */

static void text(struct output *o, const char *s, size_t n)
{
	output_char(o, '"');
	if (plain_ascii(s, n) && !memchr(s, '"', n)) {
		output_put(o, s, n);
		n = 0;
	}
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

static void end_row(struct output *o)
{
	if (o->used) /* the comma after the last cell, which is still in the buffer */
		o->data[o->used - 1] = '\n';
}

/* As --agent-index relative has it. */
static void agent(const struct rp_writer *w, struct output *o, uint32_t i)
{
	output_text(o, "\"Agent ");
	output_unsigned(o, w->numbers.agents[i]);
	output_text(o, "\",");
}

static void real(struct output *o, double v)
{
	char digits[400];

	snprintf(digits, sizeof(digits), v >= 1 ? "%.6f," : "%.8e,", v);
	output_text(o, digits);
}

static void percentage(struct output *o, double v)
{
	char digits[48];

	snprintf(digits, sizeof(digits), v >= 1 ? "%.6f," : v >= 0.01 ? "%.4f," : "%.3e,", v);
	output_text(o, digits);
}

/* ---- records --------------------------------------------------------------------------------- */

static void kernel_sizes(struct output *o, const struct rec_dispatch *r)
{
	number(o, r->launch.static_shared + r->launch.dynamic_shared);
	number(o, r->launch.local_memory);
	number(o, r->launch.registers);
	number(o, 0);
	number(o, 0);
}

static void put_dispatch(struct rp_writer *w, struct output *o, const struct rec_dispatch *r,
			 uint64_t dispatch)
{
	word(o, "KERNEL_DISPATCH");
	agent(w, o, r->agent);
	number(o, rp_queue(w, r->queue));
	number(o, rp_queue(w, r->queue));
	number(o, w->t->threads[r->base.thread].tid);
	number(o, dispatch);
	number(o, w->numbers.kernels[r->kernel]);
	word(o, w->t->kernels[r->kernel].name);
	number(o, r->device.correlation);
	times(o, r->device.start, r->device.end);
	kernel_sizes(o, r);
	for (int i = 0; i < 3; i++)
		number(o, (uint32_t)i < r->dims ? r->local[i] : 1);
	for (int i = 0; i < 3; i++)
		number(o, (uint32_t)i < r->dims ? r->global[i] : 1);
	end_row(o);
}

static void put_copy(struct rp_writer *w, struct output *o, const struct rec_copy *r,
		     uint32_t direction)
{
	word(o, "MEMORY_COPY");
	word(o, rp_directions[direction]);
	number(o, rp_queue(w, r->queue));
	agent(w, o, rp_copy_agent(w, r, direction, false));
	agent(w, o, rp_copy_agent(w, r, direction, true));
	number(o, r->device.correlation);
	times(o, r->device.start, r->device.end);
	end_row(o);
}

static void put_allocation(struct rp_writer *w, struct output *o, const struct rec_allocation *r,
			   uint32_t op)
{
	char address[24];

	word(o, "MEMORY_ALLOCATION");
	word(o, rp_memory_ops[op]);
	if (op < 3)
		agent(w, o, r->agent);
	else
		word(o, "");
	number(o, r->bytes);
	snprintf(address, sizeof(address), "0x%016" PRIx64, r->address);
	word(o, address);
	number(o, r->correlation);
	times(o, r->base.start, r->base.end);
	end_row(o);
}

static void put_call(struct rp_writer *w, struct output *o, const struct rec *r, const char *kind,
		     const char *name, size_t length, uint64_t id)
{
	word(o, kind);
	text(o, name, length);
	number(o, w->t->processes[r->process].pid);
	number(o, w->t->threads[r->thread].tid);
	number(o, id);
	times(o, r->start, r->end);
	end_row(o);
}

static void put_marker(struct rp_writer *w, const struct rp_marker *m)
{
	char room[64];

	put_call(w, m->out, &m->r->base, rp_kind_name(&w->numbers, m->kind, room), m->r->text,
		 m->r->text_length, m->id);
}

static void put_api(struct rp_writer *w, struct output *o, const struct rec *r)
{
	const char *name = w->t->ops[r->op].name;
	char room[64];

	put_call(w, o, r, rp_kind_name(&w->numbers, w->numbers.kinds[r->op], room), name,
		 strlen(name), r->id);
}

static uint64_t product(const struct rec_dispatch *r, const uint64_t *sizes)
{
	uint64_t all = 1;

	for (uint32_t i = 0; i < 3; i++)
		all *= i < r->dims ? sizes[i] : 1;
	return all;
}

/* A row for each counter: instances are added up. */
static void put_counters(struct rp_writer *w, struct output *o, const struct rp_counted *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		const struct rec_dispatch *r = &c->kept->dispatch;

		if (i && c->values[i].counter == c->values[i - 1].counter)
			continue;
		number(o, r->device.correlation);
		number(o, c->kept->number);
		agent(w, o, r->agent);
		number(o, rp_queue(w, r->queue));
		number(o, w->t->processes[r->base.process].pid);
		number(o, w->t->threads[r->base.thread].tid);
		number(o, product(r, r->global));
		number(o, w->numbers.kernels[r->kernel]);
		word(o, w->t->kernels[r->kernel].name);
		number(o, product(r, r->local));
		kernel_sizes(o, r);
		word(o, w->t->counters[c->values[i].counter].name);
		real(o, rp_counter_sum(c, i));
		times(o, r->device.start, r->device.end);
		end_row(o);
	}
}

static void put_agent(struct rp_writer *w, struct output *o, uint32_t i)
{
	const struct t_agent *a = &w->t->agents[i];
	bool cpu = !i || strcmp(a->type, "cpu") == 0;

	number(o, w->numbers.agents[i]);
	number(o, w->numbers.agents[i]);
	word(o, cpu ? "CPU" : "GPU");
	for (int k = 0; k < AGENT_NUMBERS; k++)
		number(o, 0);
	word(o, i ? a->name : "CPU");
	word(o, i ? a->vendor : "");
	word(o, i ? a->name : "CPU");
	word(o, i ? a->label : "");
	end_row(o);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *file_name(const struct rp_writer *w, uint32_t list, char room[80])
{
	char name[64];

	switch (list) {
	case LIST_KERNELS:
		return "kernel_trace";
	case LIST_COUNTERS:
	case LIST_AGENTS:
		return rp_list_name(&w->numbers, list, name);
	default:
		snprintf(room, 80, "%s_trace", rp_list_name(&w->numbers, list, name));
		return room;
	}
}

static const char *columns_of(uint32_t list)
{
	switch (list) {
	case LIST_KERNELS:
		return KERNEL_COLUMNS;
	case LIST_COPIES:
		return COPY_COLUMNS;
	case LIST_MEMORY:
		return MEMORY_COLUMNS;
	case LIST_COUNTERS:
		return COUNTER_COLUMNS;
	case LIST_AGENTS:
		return AGENT_COLUMNS;
	default:
		return CALL_COLUMNS;
	}
}

/* A name as a folder of that one: nothing in it leads elsewhere. */
static void host_name(const struct t_process *p, char host[256])
{
	snprintf(host, 256, "%.200s", *p->hostname ? p->hostname : "host");
	for (char *c = host; *c; c++)
		*c = *c == '/' || (c == host && *c == '.') ? '_' : *c;
}

/* Hosts have folders where there are several, as rocprofv3's; processes of one number on one are numbered besides. */
static kymo_status_t open_file(const struct rp_writer *w, uint32_t process, const char *name,
			       const char *columns, struct output *out)
{
	const struct t_process *p = &w->t->processes[process];
	uint32_t twin = rp_twin(w, process);
	char path[4200], folder[4200], host[256];
	kymo_status_t status;

	host_name(p, host);
	snprintf(folder, sizeof(folder), "%.3800s%s%s", w->o.output, w->hosts ? "/" : "",
		 w->hosts ? host : "");
	if (w->hosts && mkdir(folder, 0777) != 0 && errno != EEXIST) {
		stream_error(w->o.log, "%s: %s", folder, strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	if (twin > 1)
		snprintf(path, sizeof(path), "%.4000s/%u-%u_%s.csv", folder, p->pid, twin, name);
	else
		snprintf(path, sizeof(path), "%.4000s/%u_%s.csv", folder, p->pid, name);
	status = output_open(out, path, w->o.force, w->o.log);
	if (status == KYMO_OK) {
		output_text(out, columns);
		output_char(out, '\n');
	}
	return status;
}

static kymo_status_t write_rows(struct rp_writer *w, uint32_t process, uint32_t list)
{
	struct output out;
	char room[80];
	kymo_status_t status, closed;

	status = open_file(w, process, file_name(w, list, room), columns_of(list), &out);
	if (status != KYMO_OK)
		return status;
	status = rp_put_list(w, process, list, &rp_csv, &out);
	closed = output_close(&out, w->o.log);
	return status == KYMO_OK ? closed : status;
}

static void put_sum(struct output *o, const struct rp_stat *s, const char *name, double all)
{
	word(o, name);
	number(o, s->count);
	number(o, s->sum);
	real(o, (double)s->sum / (double)s->count);
	percentage(o, all > 0 ? (double)s->sum / all * 100 : 0);
	number(o, s->min);
	number(o, s->max);
	real(o, sqrt(rp_stat_variance(s)));
	end_row(o);
}

/* Sums of a list, which begin with those of all of it. */
static kymo_status_t write_sums(struct rp_writer *w, const struct rp_stat *s, uint32_t count)
{
	char name[80], room[64];
	struct output out;
	kymo_status_t status;

	snprintf(name, sizeof(name), "%s_stats",
		 s->list == LIST_KERNELS ? "kernel" : rp_list_name(&w->numbers, s->list, room));
	status = open_file(w, s->process, name, STATS_COLUMNS, &out);
	if (status != KYMO_OK)
		return status;
	for (uint32_t i = 1; i < count; i++)
		put_sum(&out, &s[i], s[i].name, (double)s->sum);
	return output_close(&out, w->o.log);
}

static kymo_status_t write_domains(struct rp_writer *w, const struct rp_stat *s, uint32_t count)
{
	struct output out;
	double all = 0;
	char room[64];
	kymo_status_t status = open_file(w, s->process, "domain_stats", STATS_COLUMNS, &out);

	if (status != KYMO_OK)
		return status;
	for (uint32_t i = 0; i < count; i++)
		all += s[i].name ? 0 : (double)s[i].sum;
	for (uint32_t i = 0; i < count; i++)
		if (!s[i].name)
			put_sum(&out, &s[i], rp_list_title(&w->numbers, s[i].list, room), all);
	return output_close(&out, w->o.log);
}

/* How many sums from `i` on are of the same process, and list. */
static uint32_t run_of(const struct rp_stats *s, uint32_t i, bool list)
{
	uint32_t n = 1;

	while (i + n < s->count && s->at[i + n].process == s->at[i].process &&
	       (!list || s->at[i + n].list == s->at[i].list))
		n++;
	return n;
}

static kymo_status_t write_all_sums(struct rp_writer *w)
{
	const struct rp_stats *s = &w->stats;
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 0, n; i < s->count && status == KYMO_OK; i += n) {
		n = run_of(s, i, false);
		status = write_domains(w, &s->at[i], n);
	}
	for (uint32_t i = 0, n; i < s->count && status == KYMO_OK; i += n) {
		n = run_of(s, i, true);
		status = write_sums(w, &s->at[i], n);
	}
	return status;
}

/* The host is the first one of each process. */
static kymo_status_t keep_agent(struct rp_writer *w, uint32_t process, uint32_t agent)
{
	const struct rp_line row = {.kind = LINE_AGENT, .number = agent};

	return rp_keep(w, process, LIST_AGENTS, &row, NULL, 0);
}

static kymo_status_t keep_agents(struct rp_writer *w)
{
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 1; i < w->t->agents_count && status == KYMO_OK; i++) {
		uint32_t process = w->t->agents[i].process;

		if (!rp_is_agent(&w->t->agents[i]))
			continue;
		if (w->numbers.agents[i] == 1)
			status = keep_agent(w, process, 0);
		if (status == KYMO_OK)
			status = keep_agent(w, process, i);
	}
	if (status == KYMO_OK && !w->count) /* a folder without a file cannot be known again */
		status = keep_agent(w, w->t->processes_count > 1, 0);
	return status;
}

static kymo_status_t finish(struct rp_writer *w)
{
	kymo_status_t status = keep_agents(w);

	for (uint32_t i = 0; i < w->count && status == KYMO_OK; i++)
		status = write_rows(w, w->lists[i]->process, w->lists[i]->list);
	return status == KYMO_OK ? write_all_sums(w) : status;
}

const struct rp_form rp_csv = {
	.missing = "rocprofv3 has no CSV file for",
	.dispatch = put_dispatch,
	.copy = put_copy,
	.allocation = put_allocation,
	.marker = put_marker,
	.call = put_api,
	.counters = put_counters,
	.agent = put_agent,
	.finish = finish,
};
