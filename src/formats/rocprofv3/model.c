/* SPDX-License-Identifier: Apache-2.0 */
/* What rows refer to, by what the input calls it; see reader.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "formats/rocprofv3/reader.h"

/* ---- domains --------------------------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static void lower(const char *said, char out[64])
{
	size_t n;

	snprintf(out, 64, "%.60s", said);
	n = strlen(out);
	if (n > 4 && strcmp(out + n - 4, "_EXT") == 0)
		out[n -= 4] = 0;
	if (n > 4 && strcmp(out + n - 4, "_API") == 0)
		out[n -= 4] = 0;
	for (char *p = out; *p; p++)
		*p = (char)(isalnum((unsigned char)*p) ? tolower((unsigned char)*p) : '_');
	if (!*out)
		snprintf(out, 64, "rocprofv3");
}

bool rp_domain(const char *said, const char *function, char out[64])
{
	static const char *const known[][2] = {{"HIP_RUNTIME_API", "hip"},
					       {"HIP_COMPILER_API", "hip_compiler"},
					       {"HSA_", "hsa"},
					       {"RCCL_API", "nccl"},
					       {"MARKER_", "roctx"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!begins(said, known[i][0]))
			continue;
		snprintf(out, 64, "%s", known[i][1]);
		return !begins(said, "MARKER_CORE") ||
		       (begins(said, "MARKER_CORE_API") && begins(function, "roctx"));
	}
	lower(said, out);
	return true;
}

static uint64_t in_source(const struct rp_row *row, uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(hash_u64(row->source), a), b);
}

static const char *text_of(const struct rp_reader *r, uint32_t string)
{
	return keyed_string(&r->keyed, string);
}

static void define_call(struct rp_reader *r, struct rp_row *row)
{
	static const struct make_field arguments = {"args", KYMO_KIND_STRING};
	char domain[64];

	rp_domain(text_of(r, row->domain), text_of(r, row->name), domain);
	row->op = keyed_op(&r->keyed, domain, row->name ? text_of(r, row->name) : "(no name)",
			   &arguments, 1);
}

/* Names that the document gives numbers. */
static void find_names(struct rp_reader *r, struct rp_row *row)
{
	if (row->domain || row->kind == 0)
		return;
	row->domain = (uint32_t)map_get(&r->kinds, in_source(row, 0, row->kind));
	if (row->what != ROW_KERNEL && row->what != ROW_COUNTER)
		row->name = (uint32_t)map_get(&r->operations,
					      in_source(row, row->kind, row->operation));
}

/* A marker's text; what has none and is no range of the program's is a call. */
static void resolve_marker(struct rp_reader *r, struct assembly_item *i, struct rp_row *row)
{
	uint64_t text = map_get(&r->texts, in_source(row, 2, row->correlation));
	const char *op = text_of(r, row->name);
	char domain[64];

	if (row->kind == 0) /* of a CSV file */
		return;
	if (!text && rp_domain(text_of(r, row->domain), op, domain)) {
		row->what = ROW_CALL;
		i->kind = ASSEMBLY_CALL;
		return;
	}
	i->kind = begins(op, "roctxMark")           ? ASSEMBLY_MARK
		  : begins(op, "roctxProcessRange") ? ASSEMBLY_PROCESS_RANGE
		  : begins(op, "roctxRangeStart")   ? ASSEMBLY_PROCESS_RANGE
						    : ASSEMBLY_RANGE;
	if (text)
		row->name = (uint32_t)(text - 1);
}

static void resolve(struct rp_reader *r, struct assembly_item *i)
{
	struct rp_row *row = rp_row_of(r, i);

	find_names(r, row);
	row->left_out = row->of_counters && r->sources[row->source].kernels;
	if (row->what == ROW_MARKER)
		resolve_marker(r, i, row);
	if (row->what == ROW_CALL)
		define_call(r, row);
}

/* ---- devices --------------------------------------------------------------------------------- */

static const struct rp_agent *find_agent(const struct rp_reader *r, uint32_t source,
					 struct rp_ref ref)
{
	uint64_t at =
		map_get(&r->found_agents, hash_mix(hash_mix(hash_u64(source), ref.by), ref.number));

	if (!at && ref.by == BY_LOGICAL)
		at = map_get(&r->found_agents,
			     hash_mix(hash_mix(hash_u64(source), BY_NODE), ref.number));
	return at ? &r->agents[at - 1] : NULL;
}

static const char *runtime_of(const struct rp_reader *r, const struct assembly_item *i)
{
	const struct assembly_item *call = assembly_call(&r->all, i);
	const struct rp_row *row = call ? rp_row_of(r, call) : NULL;
	const char *domain = row ? r->t->domains[r->t->ops[row->op].domain].name : "hip";

	return strcmp(domain, "hip_compiler") == 0 ? "hip" : domain;
}

static uint32_t add_agent(struct rp_reader *r, uint32_t process, const struct rp_agent *a,
			  struct rp_ref ref, const char *runtime)
{
	struct t_agent what = {.type = "gpu",
			       .vendor = "",
			       .driver = "",
			       .domain = runtime,
			       .platform = "",
			       .properties = ""};
	char name[40];

	if (!a) {
		snprintf(name, sizeof(name), "device %llu", (unsigned long long)ref.number);
		what.name = text_of(r, rp_text(r, name, strlen(name)));
		what.handle = ref.number;
		return keyed_agent(&r->keyed, process, hash_mix(hash_u64(ref.by), ref.number),
				   &what);
	}
	what.type = a->gpu ? "gpu" : "cpu";
	what.name = a->name ? text_of(r, a->name) : "(no name)";
	what.vendor = text_of(r, a->vendor);
	what.handle = a->handle == UINT64_MAX ? a->node : a->handle;
	what.properties = a->properties ? text_of(r, a->properties) : "";
	return keyed_agent(&r->keyed, process, hash_u64((uint64_t)(a - r->agents)), &what);
}

/* Processors are devices if kernels run on them: `kernel`; else they are the host, 0. */
static uint32_t define_agent(struct rp_reader *r, const struct assembly_item *i, struct rp_ref ref,
			     bool kernel)
{
	const struct rp_agent *a;
	const struct rp_row *row = rp_row_of(r, i);

	if (ref.by == BY_NONE)
		return 0;
	a = find_agent(r, row->source, ref);
	if ((a && !a->gpu) || (!a && ref.by == BY_TYPE_CPU)) {
		uint64_t key = hash_u64(a ? (uint64_t)(a - r->agents) : ref.number);

		if (!kernel)
			return (uint32_t)map_get(&r->keyed.agents,
						 hash_mix(hash_u64(i->process), key));
	}
	return add_agent(r, i->process, a, ref, runtime_of(r, i));
}

static uint32_t define_queue(struct rp_reader *r, const struct assembly_item *i, uint32_t agent)
{
	const struct rp_row *row = rp_row_of(r, i);
	struct t_queue q = {
		.process = i->process, .agent = agent, .domain = runtime_of(r, i), .name = ""};

	if (!row->stream && !row->queue && row->what != ROW_COPY)
		return 0;
	q.handle = r->sources[row->source].streams ? row->stream : row->queue;
	if (!r->sources[row->source].streams && row->what == ROW_COPY)
		return 0;
	return keyed_queue(&r->keyed, &q);
}

/* ---- kernels, counters ----------------------------------------------------------------------- */

static const struct rp_symbol *symbol(const struct rp_reader *r, const struct rp_row *row,
				      uint64_t what, uint64_t number)
{
	uint64_t at = map_get(&r->found_symbols, in_source(row, what, number));

	return at ? &r->symbols[at - 1] : NULL;
}

static void define_kernel(struct rp_reader *r, struct assembly_item *i)
{
	struct rp_row *row = rp_row_of(r, i);
	const struct rp_symbol *s = row->kernel ? symbol(r, row, 0, row->kernel) : NULL;
	uint32_t name = s ? s->name : row->name;
	char unknown[40];

	if (!name) {
		snprintf(unknown, sizeof(unknown), "kernel %llu", (unsigned long long)row->kernel);
		name = rp_text(r, unknown, strlen(unknown));
	}
	row->registers = s && !row->registers ? s->registers : row->registers;
	row->agent_index = define_agent(r, i, row->agent, true);
	row->queue_index = define_queue(r, i, row->agent_index);
	row->kernel_index =
		keyed_kernel(&r->keyed, i->process, name, s ? s->symbol : 0, runtime_of(r, i));
}

static void define_counter(struct rp_reader *r, struct assembly_item *i)
{
	struct rp_row *row = rp_row_of(r, i);
	const struct rp_symbol *s =
		row->kind || row->kernel ? symbol(r, row, 1, row->counter) : NULL;
	struct t_counter c = {.process = i->process,
			      .unit = "",
			      .description = s ? text_of(r, s->symbol) : "",
			      .provider = "rocprofv3",
			      .dimensions = ""};
	uint32_t name = s ? s->name : row->kernel ? 0 : row->counter;

	define_kernel(r, i);
	c.agent = row->agent_index;
	c.name = name ? text_of(r, name) : "(no name)";
	row->counter_index =
		keyed_counter(&r->keyed, hash_mix(hash_u64(row->agent_index), name), &c);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* "MEMORY_COPY_HOST_TO_DEVICE"; versions before 6.3 have HOST_TO_DEVICE alone. */
static bool side(const char *direction, bool to)
{
	const char *at = strstr(direction, "_TO_");

	if (!at)
		return true;
	return to ? begins(at + 4, "DEVICE") : at - direction >= 6 && begins(at - 6, "DEVICE");
}

static void define_copy(struct rp_reader *r, struct assembly_item *i)
{
	struct rp_row *row = rp_row_of(r, i);
	const char *direction = text_of(r, row->name);
	bool from = side(direction, false), to = side(direction, true);

	row->from_index = from ? define_agent(r, i, row->from, true) : 0;
	row->agent_index = to ? define_agent(r, i, row->agent, true) : 0;
	row->queue_index =
		define_queue(r, i, row->agent_index ? row->agent_index : row->from_index);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void define_item(struct rp_reader *r, struct assembly_item *i, bool kernels)
{
	struct rp_row *row = rp_row_of(r, i);

	if (i->kind != ASSEMBLY_WORK || row->left_out)
		return;
	if (kernels && row->what == ROW_KERNEL)
		define_kernel(r, i);
	else if (kernels && row->what == ROW_COUNTER)
		define_counter(r, i);
	else if (!kernels && row->what == ROW_COPY)
		define_copy(r, i);
	else if (!kernels && row->what == ROW_MEMORY)
		row->agent_index = define_agent(r, i, row->agent, false);
}

static void complete_sources(struct rp_reader *r)
{
	for (uint32_t i = 0; i < r->source_count; i++) {
		const struct rp_source *s = &r->sources[i];
		struct t_process *p = &r->t->processes[s->process];

		if (!s->process)
			continue;
		if (s->host)
			p->hostname = text_of(r, s->host);
		if (s->command)
			p->argv = p->exe = text_of(r, s->command);
		if (assembly_is_time(s->start) && assembly_is_time(s->end) && s->start > 0 &&
		    s->end >= s->start) {
			p->start = s->start + r->all.shift;
			p->end = s->end + r->all.shift;
		}
	}
	for (uint32_t i = 1; i < r->t->processes_count; i++) {
		struct t_process *p = &r->t->processes[i];

		p->argv = *p->argv ? p->argv : "(no name)";
		p->file = r->t->path;
	}
}

/* Devices that nothing ran on. */
static void define_unused(struct rp_reader *r)
{
	for (uint32_t i = 0; i < r->agent_count; i++) {
		const struct rp_agent *a = &r->agents[i];
		uint32_t process = r->sources[a->source].process;

		if (a->gpu && process)
			add_agent(r, process, a, (struct rp_ref){0}, "hip");
	}
}

void rp_define(struct rp_reader *r)
{
	struct trace *t = r->t;

	for (uint32_t n = 0; n < r->all.count && !r->failed; n++)
		resolve(r, &r->all.items[n]);
	if (r->failed || !assembly_order(&r->all, t)) {
		r->failed = true;
		return;
	}
	for (int kernels = 1; kernels >= 0; kernels--)
		for (uint32_t n = 0; n < r->all.count && !r->keyed.failed; n++)
			define_item(r, &r->all.items[r->all.order[n]], kernels);
	define_unused(r);
	complete_sources(r);
	t->command = t->processes_count > 1 ? t->processes[1].argv : "";
	t->hostname = t->processes_count > 1 ? t->processes[1].hostname : "";
	t->version = "";
	t->origin = r->all.first + r->all.shift;
	t->end = r->all.last + r->all.shift;
	if (!keyed_complete(&r->keyed, t->origin, t->end) || !make_complete(t))
		r->failed = true;
}
