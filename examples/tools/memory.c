/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool: how much memory a program had at most, by kind, and what it never gave back, with the
 * call that made it. Shows activities as callbacks (the domain `allocation` is told on the thread
 * that allocates, in order) next to callbacks of calls, selected by what ops are and not by their
 * names.
 *
 *   cc -shared -fPIC memory.c $(pkg-config --cflags --libs kymo) -o libmemory.so
 *   KYMO_TOOLS=./libmemory.so OPENCL_LAYERS=$(pkg-config --variable=library kymo) ./a.out
 */
#include <kymo/kymo.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KINDS 8

struct block {
	struct block *next;
	uint64_t id, bytes, kind;
	const kymo_op_desc_t *call; /* that made it */
	const void *site;           /* where the program called it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks; /* live ones, the newest first; under `lock`, as all below */
static uint64_t live[KINDS], most[KINDS];
static const char *kinds[KINDS];

/* The last call of the thread that may allocate. */
static _Thread_local const kymo_op_desc_t *call_op;
static _Thread_local const void *call_site;
static _Thread_local uint64_t call_id;

static kymo_value_t field(const kymo_callback_record_t *r, const char *name)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	kymo_value_t v = {.size = sizeof(v)};

	for (uint32_t i = 0; i < op->field_count; i++)
		if (strcmp(op->fields[i].name, name) == 0 && !kymo_callback_value(r, i, &v))
			break;
	return v;
}

static void allocated(const kymo_callback_record_t *r)
{
	kymo_value_t kind = field(r, "kind");
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		return;
	*b = (struct block){blocks, field(r, "id").u, field(r, "bytes").u, kind.u % KINDS, NULL,
			    NULL};
	if (r->correlation == call_id) {
		b->call = call_op;
		b->site = call_site;
	}
	blocks = b;
	if (!kinds[b->kind])
		kymo_enum_name(kind.field->set, (int64_t)kind.u, &kinds[b->kind]);
	live[b->kind] += b->bytes;
	if (live[b->kind] > most[b->kind])
		most[b->kind] = live[b->kind];
}

static void freed(uint64_t id)
{
	struct block **at = &blocks, *b;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	b = *at;
	if (!b)
		return;
	*at = b->next;
	live[b->kind] -= b->bytes;
	free(b);
}

static void memory(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	pthread_mutex_lock(&lock);
	if (strcmp(r->domain->ops[r->op].name, "allocate") == 0)
		allocated(r);
	else
		freed(field(r, "id").u);
	pthread_mutex_unlock(&lock);
}

static void call(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	call_op = &r->domain->ops[r->op];
	call_site = r->call_site;
	call_id = r->correlation;
}

static bool allocates(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return domain->ops[op].flags & KYMO_OP_ALLOCATES;
}

static kymo_status_t start(void *data)
{
	kymo_selection_t allocations = {.size = sizeof(allocations), .domain = "allocation"};
	kymo_selection_t calls = {.size = sizeof(calls), .select = allocates};
	kymo_context_t context;
	kymo_status_t s = kymo_context_create(&context);

	s = s ? s : kymo_callback_service(context, &allocations, memory, NULL);
	s = s ? s : kymo_callback_service(context, &calls, call, NULL);
	return s ? s : kymo_context_start(context);
}

static void print(void *data)
{
	pthread_mutex_lock(&lock);
	for (unsigned k = 0; k < KINDS; k++)
		if (most[k])
			fprintf(stderr, "%s memory: at most %llu bytes, at the end %llu\n",
				kinds[k] ? kinds[k] : "?", (unsigned long long)most[k],
				(unsigned long long)live[k]);
	for (struct block *b = blocks; b; b = b->next)
		fprintf(stderr, "never freed: %llu bytes of %s at %p\n",
			(unsigned long long)b->bytes, b->call ? b->call->name : "?", b->site);
	pthread_mutex_unlock(&lock);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "memory", start, print, NULL, NULL};

	return &tool;
}
