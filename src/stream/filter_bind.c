/* SPDX-License-Identifier: Apache-2.0 */
/* Binding a filter to a trace: each name of it is looked at once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/demangle.h"
#include "stream/filter_parts.h"
#include "stream/names.h"
#include "stream/symbol.h"
#include "stream/trace.h"

/* How much of a list that begins at `s` is that name. */
static size_t begins(const char *s, const char *name)
{
	size_t n = strlen(name);

	return strncmp(s, name, n) == 0 && (s[n] == ',' || s[n] == '\0') ? n : 0;
}

static size_t begins_number(const char *s, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return begins(s, text);
}

static bool list_has(const char *list, const char *word)
{
	for (const char *s = list; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
		if (begins(s, word))
			return true;
	return false;
}

static bool list_has_number(const char *list, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return list_has(list, text);
}

static size_t longer(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* The span of number `k` of the list, which is written at `s`, has the number in it. */
static size_t in_span(const struct number_list *l, unsigned k, const char *s, uint64_t number)
{
	return number >= l->at[k].first && number <= l->at[k].last ? strcspn(s, ",") : 0;
}

static bool *table(uint32_t count)
{
	return calloc(count, sizeof(bool));
}

/* ---- operations and kernels -------------------------------------------------------------------- */

static size_t domain_there(const struct filter_binding *b, const char *s, unsigned k)
{
	const struct trace *t = b->trace;
	size_t n = 0;

	for (uint32_t i = 1; i < t->domains_count; i++)
		n = longer(n, begins(s, t->domains[i].name));
	return n;
}

static kymo_status_t bind_domains(struct filter_binding *b)
{
	const struct trace *t = b->trace;
	struct names_list none = {0};
	struct text what = {0};
	kymo_status_t status;
	bool found;

	if (!b->filter->spec.domains)
		return KYMO_OK;
	found = filter_members(b, CHOICE_DOMAIN, domain_there);
	for (uint32_t i = 1; !found && i < t->domains_count; i++)
		text_addf(&what, "%s %s", i > 1 ? "," : "its domains are", t->domains[i].name);
	status = filter_choose(b, CHOICE_DOMAIN, found, what.s ? what.s : "", &none);
	text_release(&what);
	return status;
}

static bool op_wanted(const struct stream_filter *f, const struct trace *t, uint32_t i,
		      bool *included)
{
	const char *domain = t->domains[t->ops[i].domain].name;
	char name[512];

	if (f->spec.domains && !list_has(f->spec.domains, domain))
		return false;
	snprintf(name, sizeof(name), "%s:%s", domain, t->ops[i].name);
	if (f->ops.set && !pattern_matches(&f->ops, name))
		return false;
	*included |= i != 0;
	return !f->exclude.set || !pattern_matches(&f->exclude, name);
}

static kymo_status_t bind_ops(struct filter_binding *b)
{
	const struct stream_filter *f = b->filter;
	const struct trace *t = b->trace;
	struct names_list has = {0};
	bool found = false;

	if (!f->spec.domains && !f->ops.set && !f->exclude.set)
		return KYMO_OK;
	b->ops = table(t->ops_count);
	if (!b->ops)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < t->ops_count; i++)
		b->ops[i] = op_wanted(f, t, i, &found);
	if (!f->ops.set)
		return KYMO_OK;
	for (uint32_t i = 1; !found && i < t->ops_count; i++)
		names_add(&has, t->ops[i].name);
	return filter_choose(b, CHOICE_OP, found, "its operations are", &has);
}

/* All executions of that kernel are. */
static bool left_out(const struct pattern *p, const char *kernel)
{
	for (uint32_t i = 0; i < p->count; i++)
		if ((!p->lines[i].numbers.count && pattern_line_matches(&p->lines[i], kernel)) ||
		    strcmp(p->lines[i].text, kernel) == 0)
			return true;
	return false;
}

static kymo_status_t bind_kernels(struct filter_binding *b)
{
	const struct stream_filter *f = b->filter;
	const struct trace *t = b->trace;
	struct names_list has = {0};
	bool found = false;

	if (!f->kernels.set && !f->no_kernels.set)
		return KYMO_OK;
	b->only_kernels = f->kernels.set;
	b->kernels = table(t->kernels_count);
	if (!b->kernels)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < t->kernels_count; i++) {
		bool wanted = !f->kernels.set || pattern_matches(&f->kernels, t->kernels[i].name);

		found |= i && wanted;
		b->kernels[i] = wanted && !left_out(&f->no_kernels, t->kernels[i].name);
	}
	if (!f->kernels.set)
		return KYMO_OK;
	for (uint32_t i = 1; !found && i < t->kernels_count; i++)
		names_add(&has, t->kernels[i].name);
	return filter_choose(b, CHOICE_KERNEL, found, "its kernels are", &has);
}

/* ---- processes ----------------------------------------------------------------------------- */

static void describe_process(struct text *out, const struct t_process *p)
{
	text_addf(out, "%u (%s)", p->pid, name_program(p));
}

static bool process_named(const struct stream_filter *f, const struct t_process *p)
{
	return list_has_number(f->spec.processes, p->pid) ||
	       list_has(f->spec.processes, name_program(p));
}

static kymo_status_t say_process(struct filter_binding *b, enum choice c, bool found,
				 const char *what)
{
	const struct trace *t = b->trace;
	struct names_list has = {0};
	struct text *texts = calloc(t->processes_count, sizeof(*texts));
	kymo_status_t status;

	for (uint32_t i = 1; texts && !found && i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		if (c == CHOICE_PROCESS)
			describe_process(&texts[i], p);
		else if (c == CHOICE_NODE)
			text_add(&texts[i], p->hostname);
		else if (p->rank != UINT32_MAX)
			text_addf(&texts[i], "%u", p->rank);
		if (texts[i].s)
			names_add(&has, texts[i].s);
	}
	if (!has.count && c == CHOICE_RANK)
		what = "none of its processes is known to be a rank";
	status = filter_choose(b, c, found, what, &has);
	for (uint32_t i = 1; texts && i < t->processes_count; i++)
		text_release(&texts[i]);
	free(texts);
	return status;
}

static size_t process_there(const struct filter_binding *b, const char *s, unsigned k)
{
	const struct trace *t = b->trace;
	size_t n = 0;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		n = longer(n, begins_number(s, t->processes[i].pid));
		n = longer(n, begins(s, name_program(&t->processes[i])));
	}
	return n;
}

static size_t rank_there(const struct filter_binding *b, const char *s, unsigned k)
{
	const struct trace *t = b->trace;
	size_t n = 0;

	for (uint32_t i = 1; !n && i < t->processes_count; i++)
		if (t->processes[i].rank != UINT32_MAX)
			n = in_span(&b->filter->ranks, k, s, t->processes[i].rank);
	return n;
}

static size_t node_there(const struct filter_binding *b, const char *s, unsigned k)
{
	const struct trace *t = b->trace;
	size_t n = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		n = longer(n, begins(s, t->processes[i].hostname));
	return n;
}

static kymo_status_t bind_processes(struct filter_binding *b)
{
	const struct stream_filter *f = b->filter;
	const struct trace *t = b->trace;
	kymo_status_t status = KYMO_OK;

	if (!f->spec.processes && !f->spec.ranks && !f->spec.nodes)
		return KYMO_OK;
	b->processes = table(t->processes_count);
	if (!b->processes)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];
		bool by_pid = !f->spec.processes || process_named(f, p);
		bool by_rank = !f->spec.ranks ||
			       (p->rank != UINT32_MAX && numbers_have(&f->ranks, p->rank));
		bool by_node = !f->spec.nodes || list_has(f->spec.nodes, p->hostname);

		b->processes[i] = by_pid && by_rank && by_node;
	}
	if (f->spec.processes)
		status = say_process(b, CHOICE_PROCESS,
				     filter_members(b, CHOICE_PROCESS, process_there),
				     "its processes are");
	if (status == KYMO_OK && f->spec.ranks)
		status = say_process(b, CHOICE_RANK, filter_members(b, CHOICE_RANK, rank_there),
				     "its ranks are");
	if (status == KYMO_OK && f->spec.nodes)
		status = say_process(b, CHOICE_NODE, filter_members(b, CHOICE_NODE, node_there),
				     "its nodes are");
	return status;
}

static bool thread_named(const struct stream_filter *f, const struct t_thread *t)
{
	return list_has_number(f->spec.threads, t->tid) ||
	       (t->main && list_has(f->spec.threads, "main")) ||
	       (t->name && *t->name && list_has(f->spec.threads, t->name));
}

static size_t thread_there(const struct filter_binding *b, const char *s, unsigned k)
{
	const struct trace *t = b->trace;
	size_t n = 0;

	for (uint32_t i = 1; i < t->threads_count; i++) {
		n = longer(n, begins_number(s, t->threads[i].tid));
		n = longer(n, t->threads[i].main ? begins(s, "main") : 0);
		n = longer(n, begins(s, t->threads[i].name));
	}
	return n;
}

static kymo_status_t bind_threads(struct filter_binding *b)
{
	const struct trace *t = b->trace;
	struct names_list has = {0};
	struct text numbers = {0};
	bool found;
	kymo_status_t status;

	if (!b->filter->spec.threads)
		return KYMO_OK;
	b->threads = table(t->threads_count);
	if (!b->threads)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 1; i < t->threads_count; i++)
		b->threads[i] = thread_named(b->filter, &t->threads[i]);
	found = filter_members(b, CHOICE_THREAD, thread_there);
	for (uint32_t i = 1; !found && i < t->threads_count && i <= 20; i++)
		text_addf(&numbers, "%s%u%s%s%s", i > 1 ? ", " : "its threads are ",
			  t->threads[i].tid, *t->threads[i].name ? " (" : "", t->threads[i].name,
			  *t->threads[i].name ? ")" : "");
	if (!found && t->threads_count > 21)
		text_addf(&numbers, " and %u more", t->threads_count - 21);
	status = filter_choose(b, CHOICE_THREAD, found, numbers.s ? numbers.s : "it has no threads",
			       &has);
	text_release(&numbers);
	return status;
}

/* ---- devices ------------------------------------------------------------------------------- */

static bool agent_named(const struct stream_filter *f, const struct t_agent *a)
{
	return f->devices.set ? pattern_matches(&f->devices, a->label)
			      : !a->parent && numbers_have(&f->device_numbers, a->number);
}

/* Parts of a device are part of it. */
static bool is_agent(const struct filter_binding *b, uint32_t i)
{
	const struct trace *t = b->trace;

	for (unsigned depth = 0; i && i < t->agents_count && depth < 8; depth++) {
		if (agent_named(b->filter, &t->agents[i]))
			return true;
		i = t->agents[i].parent;
	}
	return false;
}

static size_t device_there(const struct filter_binding *b, const char *s, unsigned k)
{
	const struct trace *t = b->trace;
	size_t n = 0;

	for (uint32_t i = 1; !n && i < t->agents_count; i++)
		if (!t->agents[i].parent)
			n = in_span(&b->filter->device_numbers, k, s, t->agents[i].number);
	return n;
}

static size_t queue_there(const struct filter_binding *b, const char *s, unsigned k)
{
	const struct trace *t = b->trace;
	size_t n = 0;

	for (uint32_t i = 1; !n && i < t->queues_count; i++)
		n = in_span(&b->filter->queue_numbers, k, s, t->queues[i].number);
	return n;
}

/* As a framework calls the device that a kernel was built for: its work is on that, whatever the runtime calls it. */
static bool framework_named(const struct stream_filter *f, const char *device)
{
	uint32_t number;

	if (!device || !*device)
		return false;
	if (f->devices.set)
		return pattern_matches(&f->devices, device);
	return trace_says_number(device, &number) && numbers_have(&f->device_numbers, number);
}

static bool find_built_for(struct filter_binding *b)
{
	const struct trace *t = b->trace;
	bool any = false;

	for (uint32_t i = 1; i < t->kernels_count; i++) {
		b->built_for[i] = framework_named(b->filter, t->kernels[i].device);
		any |= b->built_for[i];
	}
	return any;
}

static kymo_status_t bind_agents(struct filter_binding *b)
{
	const struct trace *t = b->trace;
	struct names_list has = {0};
	bool found = false;

	if (!b->filter->spec.devices)
		return KYMO_OK;
	b->only_devices = true;
	b->agents = table(t->agents_count);
	b->built_for = table(t->kernels_count);
	if (!b->agents || !b->built_for)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 1; i < t->agents_count; i++) {
		b->agents[i] = is_agent(b, i);
		found |= b->agents[i];
	}
	if (!b->filter->devices.set)
		found = filter_members(b, CHOICE_DEVICE, device_there);
	found |= find_built_for(b);
	for (uint32_t i = 1; !found && i < t->agents_count; i++)
		names_add(&has, t->agents[i].label);
	return filter_choose(b, CHOICE_DEVICE, found,
			     "its devices, each name's numbered from 0 on its node, are", &has);
}

static kymo_status_t bind_queues(struct filter_binding *b)
{
	const struct stream_filter *f = b->filter;
	const struct trace *t = b->trace;
	struct names_list has = {0};
	bool found = false;

	if (!f->spec.queues)
		return KYMO_OK;
	b->only_devices = true;
	b->queues = table(t->queues_count);
	if (!b->queues)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 1; i < t->queues_count; i++) {
		const struct t_queue *q = &t->queues[i];

		b->queues[i] = f->queues.set ? pattern_matches(&f->queues, q->label)
					     : numbers_have(&f->queue_numbers, q->number);
		found |= b->queues[i];
	}
	if (!f->queues.set)
		found = filter_members(b, CHOICE_QUEUE, queue_there);
	for (uint32_t i = 1; !found && i < t->queues_count; i++)
		names_add(&has, t->queues[i].label);
	return filter_choose(b, CHOICE_QUEUE, found, "its queues are", &has);
}

/* ---- call sites ---------------------------------------------------------------------------- */

/* "src/heat.c" is named by that, by "heat.c". */
static bool file_is(const char *file, const char *name)
{
	size_t n = file ? strlen(file) : 0, m = strlen(name);

	return n >= m && strcmp(file + n - m, name) == 0 && (n == m || file[n - m - 1] == '/');
}

static bool name_matches(const struct stream_filter *f, const char *function, bool exactly)
{
	return exactly ? strcmp(function, f->spec.sites) == 0
		       : pattern_matches(&f->sites, function);
}

/* A name of the symbol table is looked for as it was written. */
static bool symbol_matches(const struct stream_filter *f, const char *function)
{
	char *written = demangle(f->spec.sites);
	bool matches = written && strcmp(written, function) == 0;

	free(written);
	return matches;
}

/* By its name with parameters, or without them as call sites are printed. */
static bool function_matches(const struct stream_filter *f, const char *function, bool exactly)
{
	struct text shorter = {0};
	bool matches = name_matches(f, function, exactly) || symbol_matches(f, function);

	if (!matches && name_shorten(&shorter, function) && !shorter.failed)
		matches = name_matches(f, shorter.s, exactly);
	text_release(&shorter);
	return matches;
}

static bool site_matches(const struct stream_filter *f, const struct symbol *s, bool exactly)
{
	if (f->site_file)
		return file_is(s->file, f->site_file) && numbers_have(&f->lines, s->line);
	if (!exactly && s->file && pattern_matches(&f->sites, s->file))
		return true;
	if (!s->function)
		return false;
	return function_matches(f, s->function, exactly);
}

static bool find_sites(struct filter_binding *b, struct symbols *s, bool exactly)
{
	bool found = false;

	for (uint32_t i = 1; i < b->trace->sites_count; i++) {
		if (!filter_process(b, b->trace->sites[i].process))
			continue;
		for (const struct symbol *y = symbols_site(s, i); y && !b->sites[i]; y = y->caller)
			b->sites[i] = site_matches(b->filter, y, exactly);
		found |= b->sites[i];
	}
	return found;
}

static void find_stacks(struct filter_binding *b)
{
	for (uint32_t i = 1; i < b->trace->stacks_count; i++) {
		const struct t_stack *k = &b->trace->stacks[i];

		for (uint32_t n = 0; n < k->count && !b->stacks[i]; n++)
			b->stacks[i] = b->sites[k->sites[n]];
	}
}

kymo_status_t filter_bind_sites(struct filter_binding *b)
{
	const struct trace *t = b->trace;
	struct names_list has = {0};
	struct symbols *s;
	kymo_status_t status;
	bool found;

	if (!b->filter->spec.sites)
		return KYMO_OK;
	b->host = true;
	b->sites = table(t->sites_count);
	b->stacks = table(t->stacks_count);
	s = symbols_new(t, b->filter->log);
	if (!b->sites || !b->stacks || !s) {
		symbols_free(s);
		return KYMO_ERROR_NO_MEMORY;
	}
	found = !b->filter->site_file && find_sites(b, s, true);
	if (!found)
		found = find_sites(b, s, false);
	for (uint32_t i = 1; !found && i < t->sites_count; i++)
		if (symbols_site(s, i)->function)
			names_add(&has, symbols_site(s, i)->function);
	find_stacks(b);
	status = filter_choose(b, CHOICE_SITE, found,
			       t->sites_count > 1 ? "functions that call something are"
						  : "no call sites were recorded",
			       &has);
	symbols_free(s);
	return status;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* It has work of devices that calls submit. */
static bool submits(const struct trace *t)
{
	for (uint32_t i = 1; i < t->ops_count; i++)
		if (t->ops[i].flags & KYMO_OP_SUBMITS)
			return true;
	return false;
}

static kymo_status_t bind_all(struct filter_binding *b)
{
	static kymo_status_t (*const parts[])(struct filter_binding * b) = {
		bind_domains, bind_processes, bind_ops,         bind_kernels,      bind_threads,
		bind_agents,  bind_queues,    filter_bind_time, filter_bind_sites,
	};
	kymo_status_t status = KYMO_OK;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && status == KYMO_OK; i++)
		status = parts[i](b);
	return status;
}

static kymo_status_t bind_looks(struct filter_binding *b)
{
	const struct stream_filter_spec *s = &b->filter->spec;

	if (ranges_needed(b->filter)) {
		b->ranges = ranges_new(b);
		if (!b->ranges)
			return KYMO_ERROR_NO_MEMORY;
	}
	if (counts_needed(b->filter)) {
		b->counts = counts_new(b);
		if (!b->counts)
			return KYMO_ERROR_NO_MEMORY;
	}
	b->host |= s->ranges || s->memory;
	b->follows = (b->host || b->threads) && (s->memory || s->sites || submits(b->trace));
	if (b->follows) {
		b->calls = calls_new(b);
		if (!b->calls)
			return KYMO_ERROR_NO_MEMORY;
	}
	return KYMO_OK;
}

kymo_status_t filter_bind(const struct stream_filter *f, const struct trace *t,
			  struct filter_binding *out)
{
	kymo_status_t status;

	*out = (struct filter_binding){.trace = t,
				       .filter = (struct stream_filter *)(uintptr_t)f,
				       .from = INT64_MIN,
				       .to = INT64_MAX,
				       .min_duration = INT64_MIN};
	if (!f)
		return KYMO_OK;
	out->inside = f->spec.inside;
	if (f->spec.min_duration)
		out->min_duration = f->spec.min_duration;
	status = bind_all(out);
	if (status == KYMO_OK)
		status = bind_looks(out);
	if (status != KYMO_OK)
		filter_unbind(out);
	return status;
}

void filter_unbind(struct filter_binding *b)
{
	free(b->ops);
	free(b->kernels);
	free(b->processes);
	free(b->threads);
	free(b->agents);
	free(b->built_for);
	free(b->queues);
	free(b->sites);
	free(b->stacks);
	ranges_free(b->ranges);
	counts_free(b->counts);
	calls_free(b->calls);
	*b = (struct filter_binding){0};
}

/* ---- passes ahead -------------------------------------------------------------------------- */

enum { LOOK_RANGES, LOOK_COUNTS, LOOK_OBJECTS, LOOK_CALLS, LOOKS };

static bool look_needed(const struct filter_binding *b, unsigned look)
{
	if (look == LOOK_RANGES)
		return b->ranges;
	if (look == LOOK_COUNTS)
		return b->counts;
	if (look == LOOK_OBJECTS)
		return b->filter->spec.memory;
	return b->calls;
}

struct stream_sink *filter_look(struct filter_binding *b,
				bool (**wants)(const struct trace *t, const struct t_op *op))
{
	if (!b->filter || b->nothing)
		return NULL;
	while (b->looks < LOOKS && !look_needed(b, b->looks))
		b->looks++;
	if (b->looks == LOOK_RANGES)
		return ranges_look(b->ranges, wants);
	if (b->looks == LOOK_COUNTS)
		return counts_look(b->counts, wants);
	if (b->looks == LOOK_OBJECTS)
		return calls_look_objects(b->calls, wants);
	return b->looks == LOOK_CALLS ? calls_look(b->calls, wants) : NULL;
}

kymo_status_t filter_looked(struct filter_binding *b)
{
	unsigned look = b->looks++;

	if (look == LOOK_RANGES)
		return ranges_looked(b->ranges, b);
	if (look == LOOK_COUNTS)
		return counts_looked(b->counts, b);
	return look == LOOK_OBJECTS ? calls_objects_looked(b->calls, b) : KYMO_OK;
}
