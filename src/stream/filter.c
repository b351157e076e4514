/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling of filters, and the choice of records; see filter.h. */
#include "stream/filter.h"

#include <stdlib.h>
#include <string.h>

#include "stream/filter_parts.h"
#include "stream/recorded.h"

static const char *copy_of(const char *s, bool *failed)
{
	const char *copy = s ? strdup(s) : NULL;

	*failed |= s && !copy;
	return copy;
}

static bool copy_spec(struct stream_filter *f, const struct stream_filter_spec *spec)
{
	static const size_t texts[] = {
		offsetof(struct stream_filter_spec, domains),
		offsetof(struct stream_filter_spec, ops),
		offsetof(struct stream_filter_spec, exclude),
		offsetof(struct stream_filter_spec, kernels),
		offsetof(struct stream_filter_spec, no_kernels),
		offsetof(struct stream_filter_spec, processes),
		offsetof(struct stream_filter_spec, threads),
		offsetof(struct stream_filter_spec, ranks),
		offsetof(struct stream_filter_spec, nodes),
		offsetof(struct stream_filter_spec, devices),
		offsetof(struct stream_filter_spec, queues),
		offsetof(struct stream_filter_spec, ranges),
		offsetof(struct stream_filter_spec, during),
		offsetof(struct stream_filter_spec, sites),
		offsetof(struct stream_filter_spec, memory),
		offsetof(struct stream_filter_spec, after),
		offsetof(struct stream_filter_spec, before),
	};
	bool failed = false;

	f->spec = *spec;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char **text = (const char **)(void *)((char *)&f->spec + texts[i]);

		*text = copy_of(*text, &failed);
	}
	return !failed;
}

static void free_spec(struct stream_filter_spec *s)
{
	const char *const texts[] = {
		s->domains, s->ops,   s->exclude, s->kernels, s->no_kernels, s->processes,
		s->threads, s->ranks, s->nodes,   s->devices, s->queues,     s->ranges,
		s->during,  s->sites, s->memory,  s->after,   s->before};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free((void *)(uintptr_t)texts[i]);
}

/* ---- compiling ----------------------------------------------------------------------------- */

static kymo_status_t compile_patterns(struct stream_filter *f)
{
	const struct stream_filter_spec *s = &f->spec;
	kymo_status_t status = pattern_compile(&f->ops, s->ops, "--include", f->log);

	if (status == KYMO_OK)
		status = pattern_compile(&f->exclude, s->exclude, "--exclude", f->log);
	if (status == KYMO_OK)
		status = pattern_compile_kernels(&f->kernels, s->kernels, "--kernel", f->log);
	if (status == KYMO_OK)
		status = pattern_compile_kernels(&f->no_kernels, s->no_kernels, "--exclude-kernel",
						 f->log);
	return status;
}

static kymo_status_t refuse(const struct stream_filter *f, const char *option, const char *text,
			    const char *what)
{
	stream_error(f->log, "%s \"%s\": %s", option, text, what);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

/* Numbers, or else a pattern of names. */
static kymo_status_t compile_numbered(struct stream_filter *f, struct number_list *l,
				      struct pattern *p, const char *text, const char *option)
{
	if (!text)
		return KYMO_OK;
	if (*text && text[strspn(text, "0123456789,-")] == '\0')
		return numbers_parse(l, text) ? KYMO_OK
					      : refuse(f, option, text,
						       "expected numbers such as 0,2-3, or a name");
	return *text ? pattern_compile(p, text, option, f->log)
		     : refuse(f, option, text, "expected numbers such as 0,2-3, or a name");
}

/* FILE:LINE and FILE:LINE-LINE are no patterns. */
static kymo_status_t compile_site(struct stream_filter *f)
{
	const char *text = f->spec.sites, *colon = text ? strrchr(text, ':') : NULL;

	if (!text)
		return KYMO_OK;
	if (!*text)
		return refuse(f, "--site", text, "expected a function or FILE:LINE");
	if (!colon || colon == text || (colon > text && colon[-1] == ':') || !colon[1] ||
	    colon[1 + strspn(colon + 1, "0123456789-,")])
		return pattern_compile(&f->sites, text, "--site", f->log);
	f->site_file = strndup(text, (size_t)(colon - text));
	if (!f->site_file)
		return KYMO_ERROR_NO_MEMORY;
	return numbers_parse(&f->lines, colon + 1)
		       ? KYMO_OK
		       : refuse(f, "--site", text, "expected FILE:LINE or FILE:LINE-LINE");
}

static kymo_status_t compile_memory(struct stream_filter *f)
{
	const char *s = f->spec.memory;
	char *end;

	if (!s)
		return KYMO_OK;
	f->memory_id = *s == '#';
	f->memory = strtoull(s + f->memory_id, &end, f->memory_id ? 10 : 16);
	if (*end || end == s + f->memory_id || s[f->memory_id] == '-' ||
	    (!f->memory_id && strncmp(s, "0x", 2) != 0))
		return refuse(f, "--memory", s,
			      "expected an address or handle such as 0x7f00dead0000, or #N, the "
			      "number of an allocation (column \"allocation\" of the view "
			      "memory_allocations)");
	return KYMO_OK;
}

static kymo_status_t compile_times(struct stream_filter *f)
{
	const struct stream_filter_spec *s = &f->spec;
	kymo_status_t status = KYMO_OK;

	if (s->after)
		status = time_parse(&f->after, s->after, "--after", f->log);
	if (status == KYMO_OK && s->before)
		status = time_parse(&f->before, s->before, "--before", f->log);
	if (status == KYMO_OK && time_reversed(&f->after, &f->before)) {
		stream_error(f->log, "no moment is --after %s and --before %s, which is not later",
			     s->after, s->before);
		status = KYMO_ERROR_INVALID_ARGUMENT;
	}
	if (status == KYMO_OK && s->inside && !s->after && !s->before) {
		stream_error(f->log, "--inside of which times? It goes with --after and --before");
		status = KYMO_ERROR_INVALID_ARGUMENT;
	}
	return status;
}

/* An empty list chooses nothing that there can be. */
static kymo_status_t check_list(const struct stream_filter *f, const char *text, const char *option,
				const char *what)
{
	return !text || text[strspn(text, ",")] ? KYMO_OK : refuse(f, option, text, what);
}

static kymo_status_t check_lists(const struct stream_filter *f)
{
	const struct stream_filter_spec *s = &f->spec;
	kymo_status_t status = check_list(f, s->domains, "--domain", "expected names of domains");

	if (status == KYMO_OK)
		status = check_list(f, s->processes, "--process", "expected ids or names");
	if (status == KYMO_OK)
		status = check_list(f, s->threads, "--thread", "expected ids or names, or main");
	if (status == KYMO_OK)
		status = check_list(f, s->nodes, "--node", "expected names of nodes");
	return status;
}

static kymo_status_t compile(struct stream_filter *f)
{
	const struct stream_filter_spec *s = &f->spec;
	kymo_status_t status = check_lists(f);

	if (status == KYMO_OK)
		status = compile_patterns(f);

	if (status == KYMO_OK && s->ranks && !numbers_parse(&f->ranks, s->ranks))
		status = refuse(f, "--rank", s->ranks, "expected numbers such as 0,4-7");
	if (status == KYMO_OK)
		status = compile_numbered(f, &f->device_numbers, &f->devices, s->devices,
					  "--device");
	if (status == KYMO_OK)
		status = compile_numbered(f, &f->queue_numbers, &f->queues, s->queues, "--queue");
	if (status == KYMO_OK && s->ranges)
		status = range_parse(&f->ranges, s->ranges, "--range", f->log);
	if (status == KYMO_OK && s->during)
		status = range_parse(&f->during, s->during, "--during", f->log);
	if (status == KYMO_OK)
		status = compile_site(f);
	if (status == KYMO_OK)
		status = compile_memory(f);
	return status == KYMO_OK ? compile_times(f) : status;
}

kymo_status_t stream_filter_new(const struct stream_filter_spec *spec, struct stream_log *log,
				struct stream_filter **out)
{
	struct stream_filter *f = calloc(1, sizeof(*f));
	kymo_status_t status;

	*out = NULL;
	if (!f)
		return KYMO_ERROR_NO_MEMORY;
	f->log = log;
	f->traces = 1;
	status = copy_spec(f, spec) ? compile(f) : KYMO_ERROR_NO_MEMORY;
	if (status != KYMO_OK) {
		stream_filter_free(f);
		return status;
	}
	*out = f;
	return KYMO_OK;
}

void stream_filter_free(struct stream_filter *f)
{
	if (!f)
		return;
	pattern_release(&f->ops);
	pattern_release(&f->exclude);
	pattern_release(&f->kernels);
	pattern_release(&f->no_kernels);
	pattern_release(&f->devices);
	pattern_release(&f->queues);
	pattern_release(&f->sites);
	range_release(&f->ranges);
	range_release(&f->during);
	range_release(&f->after.range);
	range_release(&f->before.range);
	free(f->ranks.at);
	free(f->device_numbers.at);
	free(f->queue_numbers.at);
	free(f->lines.at);
	free(f->site_file);
	for (unsigned c = 0; c < CHOICES; c++) {
		free(f->has[c]);
		free(f->members[c]);
	}
	free_spec(&f->spec);
	free(f);
}

void stream_filter_traces(struct stream_filter *f, unsigned count)
{
	if (f)
		f->traces = count;
}

/* ---- records ------------------------------------------------------------------------------- */

bool filter_in_windows(const struct filter_windows *w, int64_t start, int64_t end)
{
	uint32_t low = 0, high = w->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->at[middle].to < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->count && w->at[low].from <= end;
}

bool filter_when(const struct filter_binding *b, uint32_t process, int64_t start, int64_t end)
{
	return filter_time(b, start, end) &&
	       (!b->ranges || ranges_while(b->ranges, process, start, end));
}

static bool in_scope(const struct filter_binding *b, uint32_t process, int64_t scope)
{
	return !b->filter->spec.ranges || ranges_have(b->ranges, process, scope);
}

static bool at_site(const struct filter_binding *b, uint32_t site, uint32_t stack)
{
	return !b->sites || b->sites[site] || b->stacks[stack];
}

bool filter_host(const struct filter_binding *b, const struct rec *r)
{
	return filter_thread(b, r->process, r->thread) &&
	       (!b->host || (in_scope(b, r->process, r->scope) && at_site(b, r->site, r->stack)));
}

/* The call that it belongs to is wanted for what it is on the host. */
static bool of_call(const struct filter_binding *b, uint32_t process, uint64_t call)
{
	return filter_process(b, process) &&
	       (!b->follows || (call && calls_have(b->calls, process, call)));
}

/* What the calling thread itself has recorded: it has that one's thread and scope; the site is the call's. */
static bool beside_call(const struct filter_binding *b, const struct rec *r, uint64_t call)
{
	if (!filter_thread(b, r->process, r->thread))
		return false;
	if (!b->host)
		return true;
	if (b->sites || b->filter->spec.memory)
		return call && calls_have(b->calls, r->process, call);
	return in_scope(b, r->process, r->scope);
}

bool filter_call(const struct filter_binding *b, const struct rec *r)
{
	return !b->only_kernels && !b->only_devices && filter_op(b, r->op) && filter_host(b, r) &&
	       filter_when(b, r->process, r->start, r->end) &&
	       (!b->host || !b->filter->spec.memory || calls_have(b->calls, r->process, r->id));
}

static bool on_device(const struct filter_binding *b, uint32_t agent, uint32_t queue)
{
	return (!b->agents || b->agents[agent]) && (!b->queues || b->queues[queue]);
}

static bool kernel_on_device(const struct filter_binding *b, uint32_t agent, uint32_t queue,
			     uint32_t kernel)
{
	return on_device(b, agent, queue) ||
	       (b->built_for && b->built_for[kernel] && (!b->queues || b->queues[queue]));
}

/* Device records are placed by their device times where they have them. */
static bool device_time(const struct filter_binding *b, const struct rec *r,
			const struct rec_device *d)
{
	return device_timed(d) ? filter_when(b, r->process, d->start, d->end)
			       : filter_when(b, r->process, r->start, r->end);
}

bool filter_dispatch(const struct filter_binding *b, const struct rec_dispatch *r)
{
	return filter_op(b, r->base.op) && of_call(b, r->base.process, r->device.correlation) &&
	       (b->follows || filter_thread(b, r->base.process, r->base.thread)) &&
	       (!b->kernels || b->kernels[r->kernel]) &&
	       kernel_on_device(b, r->agent, r->queue, r->kernel) &&
	       (!b->counts || counts_have(b->counts, r)) && device_time(b, &r->base, &r->device);
}

bool filter_copy(const struct filter_binding *b, const struct rec_copy *r)
{
	return !b->only_kernels && filter_op(b, r->base.op) &&
	       of_call(b, r->base.process, r->device.correlation) &&
	       (b->follows || filter_thread(b, r->base.process, r->base.thread)) &&
	       on_device(b, copy_agent(b->trace, r), r->queue) &&
	       device_time(b, &r->base, &r->device);
}

bool filter_allocation(const struct filter_binding *b, const struct rec_allocation *r)
{
	bool object = b->host && b->filter->spec.memory &&
		      calls_have_object(b->calls, r->base.process, r->allocation);

	return !b->only_kernels && filter_op(b, r->base.op) && on_device(b, r->agent, 0) &&
	       (object ? filter_thread(b, r->base.process, r->base.thread) &&
				 in_scope(b, r->base.process, r->base.scope)
		       : beside_call(b, &r->base, r->correlation)) &&
	       (object || !b->host || !b->filter->spec.memory) &&
	       filter_when(b, r->base.process, r->base.start, r->base.end);
}

bool filter_sync(const struct filter_binding *b, const struct rec_sync *r)
{
	return !b->only_kernels && filter_op(b, r->base.op) &&
	       on_device(b, b->trace->queues[r->queue].agent, r->queue) &&
	       beside_call(b, &r->base, r->correlation) &&
	       filter_when(b, r->base.process, r->base.start, r->base.end);
}

/* A range is below itself. */
bool filter_marker(const struct filter_binding *b, const struct rec_marker *r)
{
	struct rec own = r->base;

	if (r->scope)
		own.scope = r->scope;
	if (r->starter)
		own.thread = r->starter;
	return (!b->host || !b->filter->spec.memory) && filter_call(b, &own);
}

bool filter_comm(const struct filter_binding *b, const struct rec_comm *r)
{
	return !b->only_kernels && !b->only_devices && filter_op(b, r->base.op) &&
	       beside_call(b, &r->base, r->correlation) &&
	       filter_when(b, r->base.process, r->base.start, r->base.end);
}

/* What was counted of a kernel goes with its execution. */
static bool kernel_counted(const struct filter_binding *b, const struct rec *r, uint32_t kernel,
			   uint64_t correlation)
{
	return (!b->kernels || b->kernels[kernel]) &&
	       (!b->counts || counts_have_call(b->counts, r->process, correlation, kernel));
}

bool filter_counter(const struct filter_binding *b, const struct rec_counter *r)
{
	return (r->kernel ? kernel_counted(b, &r->base, r->kernel, r->correlation)
			  : !b->only_kernels) &&
	       filter_op(b, r->base.op) && on_device(b, r->agent, 0) &&
	       (b->host && r->correlation ? beside_call(b, &r->base, r->correlation)
					  : filter_host(b, &r->base)) &&
	       (!b->host || !b->filter->spec.memory || r->correlation) &&
	       filter_when(b, r->base.process, r->base.start, r->base.end);
}

/* What a thread was met at: it belongs to no call that is known when it is chosen. */
static bool filter_met(const struct filter_binding *b, const struct rec *r)
{
	return !b->only_kernels && !b->only_devices && filter_op(b, r->op) &&
	       filter_thread(b, r->process, r->thread) &&
	       (!b->host ||
		(!b->filter->spec.memory && at_site(b, r->site, r->stack) &&
		 (!b->filter->spec.ranges || ranges_on_thread(b->ranges, r->thread, r->start)))) &&
	       filter_when(b, r->process, r->start, r->end);
}

bool filter_sample(const struct filter_binding *b, const struct rec_sample *r)
{
	return filter_met(b, &r->base);
}

bool filter_heap(const struct filter_binding *b, const struct rec_heap *r)
{
	return filter_met(b, &r->base);
}

bool filter_device_sample(const struct filter_binding *b, const struct rec_device_sample *r)
{
	return !b->only_kernels && filter_op(b, r->base.op) && on_device(b, r->agent, 0) &&
	       !b->queues && of_call(b, r->base.process, r->correlation) &&
	       filter_when(b, r->base.process, r->base.start, r->base.end);
}

bool filter_kernel_line(const struct filter_binding *b, const struct rec_kernel_line *r)
{
	return kernel_counted(b, &r->base, r->kernel, r->correlation) && filter_op(b, r->base.op) &&
	       on_device(b, r->agent, 0) && beside_call(b, &r->base, r->correlation) &&
	       filter_when(b, r->base.process, r->base.start, r->base.end);
}

bool filter_loss(const struct filter_binding *b, const struct rec_loss *r)
{
	return filter_thread(b, r->process, r->thread) && r->after <= b->to &&
	       r->before >= b->from &&
	       (!b->windows || filter_in_windows(b->windows, r->after, r->before));
}

/* Neither its site nor its scope is known. */
bool filter_open_call(const struct filter_binding *b, const struct trace *t,
		      const struct t_open_call *c)
{
	uint32_t process = t->threads[c->thread].process;

	return !b->nothing && !b->only_kernels && !b->only_devices && !b->host &&
	       filter_op(b, c->op) && filter_thread(b, process, c->thread) &&
	       filter_when(b, process, c->start, recorded_until(t, &t->processes[process]));
}

bool filter_unfinished(const struct filter_binding *b, const struct trace *t,
		       const struct t_unfinished *u)
{
	bool thread = b->host ? u->id && calls_have(b->calls, u->process, u->id)
			      : !b->threads || b->threads[u->thread];

	return !b->nothing && filter_op(b, u->op) && filter_process(b, u->process) && thread &&
	       (!b->only_kernels || u->kernel) && (!b->kernels || b->kernels[u->kernel]) &&
	       (!b->counts || !u->kernel || counts_have_unfinished(b->counts, u)) &&
	       kernel_on_device(b, u->agent, u->queue, u->kernel) &&
	       filter_when(b, u->process, u->submit, recorded_until(t, &t->processes[u->process]));
}

/* Neither its ops nor its threads nor its times are known. */
bool filter_unlisted(const struct filter_binding *b, const struct trace *t, uint32_t process)
{
	int64_t end = recorded_until(t, &t->processes[process]);

	return !b->nothing && !b->only_kernels && !b->only_devices && !b->host && !b->ops &&
	       !b->threads && filter_process(b, process) && end >= b->from && end <= b->to;
}
