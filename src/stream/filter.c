/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling and binding of filters; see filter.h. */
#include "stream/filter.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/recorded.h"

struct pattern {
	bool set;
	regex_t regex;
};

struct stream_filter {
	struct stream_filter_spec spec; /* its lists are copies */
	struct pattern ops, exclude, kernels;
};

static kymo_status_t compile(struct pattern *p, const char *text, const char *what,
			     struct stream_log *log)
{
	char why[256];
	int error;

	if (!text)
		return KYMO_OK;
	error = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);
	if (error) {
		regerror(error, &p->regex, why, sizeof(why));
		stream_error(log, "%s \"%s\" is not a regular expression: %s", what, text, why);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	p->set = true;
	return KYMO_OK;
}

static bool matches(const struct pattern *p, const char *text)
{
	return regexec(&p->regex, text, 0, NULL, 0) == 0;
}

static kymo_status_t check_numbers(const char *list, const char *what, struct stream_log *log)
{
	for (const char *s = list; s && *s;) {
		char *end;

		strtoul(s, &end, 10);
		if (end == s || (*end != ',' && *end != '\0')) {
			stream_error(log, "%s \"%s\": expected numbers separated by commas", what,
				     list);
			return KYMO_ERROR_INVALID_ARGUMENT;
		}
		s = *end == ',' ? end + 1 : end;
	}
	return KYMO_OK;
}

static const char *copy_of(const char *s)
{
	return s ? strdup(s) : NULL;
}

kymo_status_t stream_filter_new(const struct stream_filter_spec *spec, struct stream_log *log,
				struct stream_filter **out)
{
	struct stream_filter *f = calloc(1, sizeof(*f));
	kymo_status_t status = f ? KYMO_OK : KYMO_ERROR_NO_MEMORY;

	*out = NULL;
	if (!f)
		return status;
	f->spec = *spec;
	f->spec.domains = copy_of(spec->domains);
	f->spec.processes = copy_of(spec->processes);
	f->spec.threads = copy_of(spec->threads);
	status = compile(&f->ops, spec->ops, "the operation filter", log);
	if (status == KYMO_OK)
		status = compile(&f->exclude, spec->exclude, "the exclusion", log);
	if (status == KYMO_OK)
		status = compile(&f->kernels, spec->kernels, "the kernel filter", log);
	if (status == KYMO_OK)
		status = check_numbers(spec->processes, "the process filter", log);
	if (status == KYMO_OK)
		status = check_numbers(spec->threads, "the thread filter", log);
	if (status != KYMO_OK) {
		stream_filter_free(f);
		return status;
	}
	*out = f;
	return KYMO_OK;
}

static void release(struct pattern *p)
{
	if (p->set)
		regfree(&p->regex);
}

void stream_filter_free(struct stream_filter *f)
{
	if (!f)
		return;
	release(&f->ops);
	release(&f->exclude);
	release(&f->kernels);
	free((void *)(uintptr_t)f->spec.domains);
	free((void *)(uintptr_t)f->spec.processes);
	free((void *)(uintptr_t)f->spec.threads);
	free(f);
}

/* ---- binding ------------------------------------------------------------------------------- */

static bool list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = list; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
		if (strncmp(s, word, n) == 0 && (s[n] == ',' || s[n] == '\0'))
			return true;
	}
	return false;
}

static bool number_has(const char *list, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return list_has(list, text);
}

static bool op_wanted(const struct stream_filter *f, const struct trace *t, uint32_t i)
{
	const char *domain = t->domains[t->ops[i].domain].name;
	char name[512];

	if (f->spec.domains && !list_has(f->spec.domains, domain))
		return false;
	snprintf(name, sizeof(name), "%s:%s", domain, t->ops[i].name);
	if (f->ops.set && !matches(&f->ops, name))
		return false;
	return !f->exclude.set || !matches(&f->exclude, name);
}

static bool *table(uint32_t count, kymo_status_t *status)
{
	bool *b = calloc(count, sizeof(*b));

	if (!b)
		*status = KYMO_ERROR_NO_MEMORY;
	return b;
}

static kymo_status_t bind_names(const struct stream_filter *f, const struct trace *t,
				struct filter_binding *b)
{
	kymo_status_t status = KYMO_OK;

	if (f->spec.domains || f->ops.set || f->exclude.set) {
		b->ops = table(t->ops_count, &status);
		for (uint32_t i = 0; b->ops && i < t->ops_count; i++)
			b->ops[i] = op_wanted(f, t, i);
	}
	if (f->kernels.set) {
		b->only_kernels = true;
		b->kernels = table(t->kernels_count, &status);
		for (uint32_t i = 0; b->kernels && i < t->kernels_count; i++)
			b->kernels[i] = matches(&f->kernels, t->kernels[i].name);
	}
	if (f->spec.processes) {
		b->processes = table(t->processes_count, &status);
		for (uint32_t i = 0; b->processes && i < t->processes_count; i++)
			b->processes[i] = number_has(f->spec.processes, t->processes[i].pid);
	}
	if (f->spec.threads) {
		b->threads = table(t->threads_count, &status);
		for (uint32_t i = 0; b->threads && i < t->threads_count; i++)
			b->threads[i] = number_has(f->spec.threads, t->threads[i].tid);
	}
	return status;
}

kymo_status_t filter_bind(const struct stream_filter *f, const struct trace *t,
			  struct filter_binding *out)
{
	kymo_status_t status;

	*out = (struct filter_binding){
		.from = INT64_MIN, .to = INT64_MAX, .min_duration = INT64_MIN};
	if (!f)
		return KYMO_OK;
	if (f->spec.has_from)
		out->from = t->origin + f->spec.from;
	if (f->spec.has_to)
		out->to = t->origin + f->spec.to;
	if (f->spec.min_duration)
		out->min_duration = f->spec.min_duration;
	status = bind_names(f, t, out);
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
	*b = (struct filter_binding){0};
}

/* Device records are placed by their device times where they have them. */
static bool device_time(const struct filter_binding *b, const struct rec *r,
			const struct rec_device *d)
{
	return device_timed(d) ? filter_time(b, d->start, d->end)
			       : filter_time(b, r->start, r->end);
}

bool filter_dispatch(const struct filter_binding *b, const struct rec_dispatch *r)
{
	return filter_op(b, r->base.op) && filter_thread(b, r->base.process, r->base.thread) &&
	       (!b->kernels || b->kernels[r->kernel]) && device_time(b, &r->base, &r->device);
}

bool filter_copy(const struct filter_binding *b, const struct rec_copy *r)
{
	return !b->only_kernels && filter_op(b, r->base.op) &&
	       filter_thread(b, r->base.process, r->base.thread) &&
	       device_time(b, &r->base, &r->device);
}

bool filter_loss(const struct filter_binding *b, const struct rec_loss *r)
{
	return filter_thread(b, r->process, r->thread) && r->after <= b->to && r->before >= b->from;
}

bool filter_open_call(const struct filter_binding *b, const struct trace *t,
		      const struct t_open_call *c)
{
	uint32_t process = t->threads[c->thread].process;

	return !b->only_kernels && filter_op(b, c->op) && filter_thread(b, process, c->thread) &&
	       filter_time(b, c->start, recorded_until(t, &t->processes[process]));
}

bool filter_unfinished(const struct filter_binding *b, const struct trace *t,
		       const struct t_unfinished *u)
{
	return filter_op(b, u->op) && filter_thread(b, u->process, u->thread) &&
	       (!b->only_kernels || (u->kernel && b->kernels[u->kernel])) &&
	       filter_time(b, u->submit, recorded_until(t, &t->processes[u->process]));
}

/* Neither its ops nor its threads nor its times are known. */
bool filter_unlisted(const struct filter_binding *b, const struct trace *t, uint32_t process)
{
	int64_t end = recorded_until(t, &t->processes[process]);

	return !b->only_kernels && !b->ops && !b->threads &&
	       (!b->processes || b->processes[process]) && end >= b->from && end <= b->to;
}
