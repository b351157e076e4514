/* SPDX-License-Identifier: Apache-2.0 */
/* Work of devices that is communication; see communication.h. */
#include "analysis/communication.h"

#include <stdlib.h>

#include "analysis/libraries.h"

static bool is_library(const struct timeline *tl, uint32_t op)
{
	const struct trace *t = tl->trace;

	return library_communicates(library_of_domain(t->domains[t->ops[op].domain].name));
}

/* By op; *any: there is one. NULL: no memory. */
static bool *list_ops(const struct timeline *tl, bool *any)
{
	bool *list = calloc((size_t)tl->trace->ops_count + 1, sizeof(*list));

	for (uint32_t i = 0; list && i < tl->trace->ops_count; i++)
		*any |= list[i] = is_library(tl, i);
	return list;
}

/* By kernel of the trace. */
static bool *list_kernels(const struct timeline *tl, bool *any)
{
	const struct trace *t = tl->trace;
	bool *list = calloc((size_t)t->kernels_count + 1, sizeof(*list));

	for (uint32_t i = 1; list && i < t->kernels_count; i++) {
		const struct t_kernel *k = &t->kernels[i];

		*any |= list[i] = library_communicates(
			library_of_kernel(k->domain ? k->domain : "", k->name ? k->name : ""));
	}
	return list;
}

/* Calls of a thread lie in order, an outer one before those made in it. */
static void mark_calls(struct timeline *tl, const bool *ops)
{
	const struct tl_call *around = NULL;

	for (uint32_t i = 0; i < tl->calls_count; i++) {
		struct tl_call *c = &tl->calls[i];

		if (around && around->thread == c->thread && c->start < around->end) {
			c->flags |= CALL_COMMUNICATES;
		} else if (ops[c->op] && !(c->flags & CALL_BURST)) {
			c->flags |= CALL_COMMUNICATES | CALL_COMMUNICATION;
			around = c;
		}
	}
}

static void mark_work(struct timeline *tl, const bool *kernels)
{
	for (uint32_t i = 0; i < tl->work_count; i++) {
		struct tl_work *w = &tl->work[i];
		const struct tl_call *c = timeline_call(tl, w);

		if (w->kind == WORK_KERNEL)
			w->communicates =
				(w->kernel < tl->trace->kernels_count && kernels[w->kernel]) ||
				(c && c->flags & CALL_COMMUNICATES);
	}
}

static bool any_communicates(const struct timeline *tl, const struct tl_device *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (tl->work[tl->order[d->first + i]].communicates)
			return true;
	return false;
}

/* Devices without such kernels have one set, that of all. */
static bool find_times(const struct timeline *tl, struct tl_device *d)
{
	if (!any_communicates(tl, d))
		return true;
	for (uint32_t i = 0; i < d->count; i++) {
		const struct tl_work *w = &tl->work[tl->order[d->first + i]];

		if (w->kind == WORK_KERNEL &&
		    !intervals_add(w->communicates ? &d->communication : &d->computing, w->start,
				   w->end))
			return false;
	}
	intervals_unite(&d->communication);
	intervals_unite(&d->computing);
	intervals_clip(&d->communication, tl->start, tl->end);
	intervals_clip(&d->computing, tl->start, tl->end);
	return true;
}

bool communication_find(struct timeline *tl)
{
	bool any = false, *ops = list_ops(tl, &any), *kernels = list_kernels(tl, &any);
	bool ok = ops && kernels;

	if (ok && any) {
		mark_calls(tl, ops);
		mark_work(tl, kernels);
	}
	for (uint32_t i = 0; ok && any && i < tl->devices_count; i++)
		ok = find_times(tl, &tl->devices[i]);
	free(ops);
	free(kernels);
	return ok;
}

const struct tl_call *communication_call(const struct timeline *tl, const struct tl_call *c)
{
	if (!(c->flags & CALL_COMMUNICATES))
		return NULL;
	while (!(c->flags & CALL_COMMUNICATION) && c > tl->calls)
		c--;
	return c;
}
