/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that programs ask the C library for, by liblttng-ust-libc-wrapper; see foreign.h. */
#include <string.h>

#include "base/hash.h"
#include "formats/ctf/foreign.h"

bool memory_is_event(const char *name)
{
	static const char *const names[] = {"malloc",   "calloc",         "realloc",
					    "memalign", "posix_memalign", "free"};
	static const char provider[] = "lttng_ust_libc:";

	if (strncmp(name, provider, sizeof(provider) - 1) != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name + sizeof(provider) - 1, names[i]) == 0)
			return true;
	return false;
}

static void hand_on(struct ctf_reader *r, const struct foreign_event *e, uint32_t op,
		    struct rec_allocation *a)
{
	const struct foreign_thread *t = e->thread;

	a->base = (struct rec){.process = t->process,
			       .thread = t->thread,
			       .ok = true,
			       .start = e->time,
			       .end = e->time};
	a->base.op = make_activity(&r->foreign->model, RECORD_DOMAIN_allocation, op);
	a->correlation = t->depth ? t->frames[t->depth - 1].id : 0;
	a->kind = MEMORY_HOST_PAGEABLE;
	a->what = ALLOCATION_BUFFER;
	r->status = r->sink->allocation(r->sink, a);
	r->done = r->status != KYMO_OK;
}

/* An address is an allocation's until it is freed. */
static void allocate(struct ctf_reader *r, const struct foreign_event *e, uint64_t address,
		     uint64_t bytes)
{
	struct ctf_foreign *f = r->foreign;
	uint64_t key = hash_mix(e->thread->process, address);
	struct rec_allocation a = {
		.bytes = bytes, .address = address, .allocation = ++f->allocations};

	if (!map_set(&f->live, key, a.allocation) || !map_set(&f->live_bytes, key, bytes)) {
		r->status = KYMO_ERROR_NO_MEMORY;
		r->done = true;
		return;
	}
	hand_on(r, e, ALLOCATION_OP_ALLOCATE, &a);
}

static void release(struct ctf_reader *r, const struct foreign_event *e, uint64_t address)
{
	struct ctf_foreign *f = r->foreign;
	uint64_t key = hash_mix(e->thread->process, address), id = map_remove(&f->live, key);
	struct rec_allocation a = {.bytes = map_remove(&f->live_bytes, key),
				   .address = address,
				   .allocation = id ? id : ++f->allocations};

	hand_on(r, e, ALLOCATION_OP_FREE, &a);
}

void memory_event(struct ctf_reader *r, const struct foreign_event *e)
{
	const struct foreign_values *v = &r->foreign->values;
	bool frees = strcmp(strrchr(e->c->name, ':') + 1, "free") == 0;
	uint64_t made, freed, bytes;

	if (r->defining)
		return;
	foreign_take(&r->foreign->values, e->payload);
	made = frees ? 0 : foreign_number(v, foreign_value(v, "out_ptr") ? "out_ptr" : "ptr");
	freed = foreign_number(v, frees ? "ptr" : "in_ptr");
	bytes = foreign_number(v, "size");
	if (foreign_value(v, "nmemb"))
		bytes *= foreign_number(v, "nmemb");
	if (!made && (!freed || bytes)) { /* there was no memory, or nothing is freed */
		foreign_mark(r, e);
		return;
	}
	if (freed)
		release(r, e, freed);
	if (made && !r->done)
		allocate(r, e, made, bytes);
}
