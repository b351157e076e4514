/* SPDX-License-Identifier: Apache-2.0 */
/* See reference.h. */
#include "stream/reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum record_reference reference_of(const struct t_field *f, bool activity)
{
	if (activity && f->kind == KYMO_KIND_UNSIGNED && strcmp(f->type, "op") == 0)
		return REFERENCE_OP;
	if (f->kind != KYMO_KIND_REF)
		return REFERENCE_NONE;
	if (strcmp(f->type, "call") == 0)
		return REFERENCE_CALL;
#define BY_TYPE(K, type_name, list)                                                                \
	if (strcmp(f->type, type_name) == 0)                                                       \
		return REFERENCE_##K;
	RECORD_REFERENCES(BY_TYPE)
#undef BY_TYPE
	return REFERENCE_NONE;
}

static uint64_t count_of(const struct trace *t, enum record_reference what)
{
	switch (what) {
#define COUNT(K, type_name, list)                                                                  \
	case REFERENCE_##K:                                                                        \
		return t->list##_count;
		RECORD_REFERENCES(COUNT)
#undef COUNT
	case REFERENCE_OP:
		return t->ops_count;
	default:
		return 0;
	}
}

static const char *cut(const char *s, uint64_t length, uint64_t total, char *room, size_t size)
{
	size_t n = length < size - 4 ? length : size - 4;

	memcpy(room, s, n);
	memcpy(room + n, n < total ? "..." : "", n < total ? 4 : 1);
	return room;
}

static const char *queue_name(const struct trace *t, uint32_t i, char *room, size_t size)
{
	const struct t_queue *q = &t->queues[i];

	snprintf(room, size, "%s/%s", t->agents[q->agent].label, q->label);
	return room;
}

static const char *context_name(const struct t_device_context *c, char *room, size_t size)
{
	if (c->name)
		return c->name;
	snprintf(room, size, "0x%" PRIx64, c->handle);
	return room;
}

static const char *thread_name(const struct t_thread *t, char *room, size_t size)
{
	snprintf(room, size, "%u%s%s", t->tid, t->name[0] ? " " : "", t->name);
	return room;
}

static const char *code_name(const struct t_code *c, char *room, size_t size)
{
	snprintf(room, size, "%s+0x%" PRIx64, c->function, c->offset);
	return room;
}

static const char *place_name(const struct t_place *p, char *room, size_t size)
{
	snprintf(room, size, "%s:%u:%u %s", p->function, p->line, p->column, p->what);
	return room;
}

static const char *op_name(const struct trace *t, const struct t_op *op, char *room, size_t size)
{
	snprintf(room, size, "%s:%s", t->domains[op->domain].name, op->name);
	return room;
}

const char *reference_name(const struct trace *t, enum record_reference what, uint64_t index,
			   char *room, size_t size)
{
	if (!t || index == 0 || index >= count_of(t, what))
		return "";
	switch (what) {
	case REFERENCE_AGENT:
		return t->agents[index].label;
	case REFERENCE_QUEUE:
		return queue_name(t, (uint32_t)index, room, size);
	case REFERENCE_KERNEL:
		return t->kernels[index].name;
	case REFERENCE_DEVICE_CONTEXT:
		return context_name(&t->contexts[index], room, size);
	case REFERENCE_BLOB:
		return cut(t->blobs[index].data, t->blobs[index].stored, t->blobs[index].total,
			   room, size);
	case REFERENCE_STRING:
		return t->strings[index].total <= t->strings[index].length
			       ? t->strings[index].text
			       : cut(t->strings[index].text, t->strings[index].length,
				     t->strings[index].total, room, size);
	case REFERENCE_COMMUNICATOR:
		return t->communicators[index].name;
	case REFERENCE_COUNTER:
		return t->counters[index].name;
	case REFERENCE_CODE:
		return code_name(&t->codes[index], room, size);
	case REFERENCE_PLACE:
		return place_name(&t->places[index], room, size);
	case REFERENCE_THREAD:
		return thread_name(&t->threads[index], room, size);
	case REFERENCE_OP:
		return op_name(t, &t->ops[index], room, size);
	default: /* programs and stacks have no names */
		return "";
	}
}
