/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions open on a thread. OMPT tells where a region begins and where it ends, in two callbacks; the
 * regions of a thread nest. A stack of our own says which are open, also those that are not recorded,
 * so that an end always meets its own begin.
 */
#include <errno.h>
#include <stdlib.h>

#include <kymo/register.h>

#include "capture/openmp/openmp.h"
#include "wire/value.h"

struct cap_op omp_ops[OMP_OP_COUNT];
const kymo_domain_desc_t *omp_desc;

#define REGIONS  128u
#define TEXT_MAX 256u

struct omp_thread {
	uint32_t depth;
	uint32_t deeper; /* begun beyond the limit */
	struct omp_region regions[REGIONS];
	struct omp_held held[OMP_HELD];
};

static _Thread_local struct omp_thread *current __attribute__((tls_model("initial-exec")));

static __attribute__((noinline, cold)) struct omp_thread *thread_new(void)
{
	int saved = errno;

	current = calloc(1, sizeof(*current));
	errno = saved;
	return current;
}

struct omp_held *omp_held(void)
{
	struct omp_thread *t = current ? current : thread_new();

	return t ? t->held : NULL;
}

void omp_thread_end(void)
{
	free(current);
	current = NULL;
}

uint64_t omp_ns(uint64_t ticks)
{
	return (uint64_t)((double)ticks * 1e9 / (double)tick_rate());
}

/* ---- records ---- */

static __attribute__((noinline, cold)) void
tell(struct cap_frame *f, const struct omp_values *values, unsigned count, enum cap_phase phase)
{
	kymo_table_args_t args;

	args.size = offsetof(kymo_table_args_t, value) + count * sizeof(uint64_t);
	for (unsigned i = 0; i < count; i++)
		args.value[i] = values->v[i];
	cap_callbacks(f, &args, phase);
}

static inline void write_record(struct cap_frame *f, const kymo_op_desc_t *op,
				const struct omp_values *values)
{
	const unsigned level = cap_args(f);
	struct wire_enc e;

	if (level == 0) {
		cap_record_bare(f);
		return;
	}
	if (!cap_record(f, &e, op->field_count))
		return;
	for (unsigned i = 0; i < op->field_count; i++)
		wire_value(&e, i, op->fields[i].kind, op->fields[i].size, values->v[i],
			   level > 1 ? TEXT_MAX : 0);
	cap_commit(f, &e);
}

static inline void leave(struct cap_frame *f, const kymo_op_desc_t *op,
			 const struct omp_values *values)
{
	cap_leave(f);
	if (cap_unlikely(f->callbacks))
		tell(f, values, op->field_count, CAP_EXIT);
	if (cap_likely(f->buffers != 0))
		write_record(f, op, values);
	cap_done(f);
}

/* ---- regions ---- */

struct omp_region *omp_begin(enum omp_op op, uint64_t key, const void *code,
			     const struct omp_values *values)
{
	struct omp_thread *t = cap_likely(current != NULL) ? current : thread_new();
	struct omp_region *r;
	struct cap_frame *f;

	if (cap_unlikely(!t))
		return NULL;
	if (cap_unlikely(t->depth == REGIONS)) {
		t->deeper++;
		return NULL;
	}
	r = &t->regions[t->depth++];
	r->op = (uint16_t)op;
	r->key = key;
	r->id = 0;
	r->values = *values;
	/* No stack frame of ours stays: only the region's end, or that of one around it, closes it. */
	r->frame = f = cap_enter_at(&omp_ops[op], code, (const void *)UINTPTR_MAX);
	if (!f)
		return r;
	r->id = f->id;
	r->index = (uint32_t)(f - cap_thread_current->frames);
	if (cap_unlikely(f->callbacks))
		tell(f, values, omp_desc->ops[op].field_count, CAP_ENTER);
	return r;
}

struct omp_region *omp_find(enum omp_op op, uint64_t key)
{
	struct omp_thread *t = current;

	for (uint32_t i = t ? t->depth : 0; i > 0; i--)
		if (t->regions[i - 1].op == op && (!key || t->regions[i - 1].key == key))
			return &t->regions[i - 1];
	return NULL;
}

uint64_t omp_current(enum omp_op op)
{
	const struct omp_region *r = omp_find(op, 0);

	return r ? r->id : 0;
}

/* Its frame is still that of this call: not wiped by a fork, not closed by one around it. */
static inline bool frame_live(const struct omp_region *r)
{
	const struct cap_thread *c = cap_thread_current;

	return c && c->magic == CAP_THREAD_MAGIC &&
	       r->index < atomic_load_explicit(&c->depth, memory_order_relaxed) &&
	       &c->frames[r->index] == r->frame && r->frame->id == r->id;
}

uint64_t omp_since(const struct omp_region *r)
{
	return r->id && frame_live(r) ? omp_ns(tick_now() - r->frame->start) : 0;
}

/* What is still open in it ends with it: the runtime has not told. */
void omp_end(struct omp_region *r)
{
	struct omp_thread *t = current;

	if (cap_unlikely(t && t->deeper)) {
		t->deeper--;
		return;
	}
	while (t && r && t->depth > (uint32_t)(r - t->regions)) {
		const struct omp_region *top = &t->regions[--t->depth];

		if (top->id && cap_likely(frame_live(top)))
			leave(top->frame, &omp_desc->ops[top->op], &top->values);
	}
}

uint64_t omp_point(enum omp_op op, const void *code, const struct omp_values *values)
{
	const kymo_op_desc_t *d = &omp_desc->ops[op];
	struct cap_frame *f = cap_enter(&omp_ops[op], code);
	uint64_t id;

	if (!f)
		return 0;
	id = f->id;
	if (cap_unlikely(f->callbacks))
		tell(f, values, d->field_count, CAP_ENTER);
	leave(f, d, values);
	return id;
}
