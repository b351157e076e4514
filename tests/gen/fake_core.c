/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of the wrapper tests: the functions of core/capture.h with the least behind them.
 */
#include "core/intercept/intercept.h"
#include "fake_core.h"

#include "opencl_ops.h"

static uint8_t memory[1 << 16] __attribute__((aligned(64)));
static struct cap_thread thread;
static uintptr_t sites[256];
static unsigned site_count;

_Thread_local struct cap_thread *cap_thread_current;
_Atomic uint32_t cap_slow_features;
_Atomic uint32_t cap_activities;

unsigned fake_untraced, fake_bare, fake_phases[3];
uint8_t fake_args[256];
struct cap_domain *fake_domain = (struct cap_domain *)&thread;

void fake_reset(void)
{
	struct wire_chunk *chunk = (struct wire_chunk *)memory;
	struct wire_ring *ring = &thread.rings[0];

	memset(memory, 0, sizeof(memory));
	tick_init();
	chunk->magic = WIRE_CHUNK_MAGIC;
	chunk->version = WIRE_VERSION;
	chunk->header_size = sizeof(*chunk);
	chunk->type = WIRE_CHUNK_RECORDS;
	chunk->base_tick = tick_now();
	chunk->next_id = thread.next_id ? thread.next_id : 1;
	chunk->committed = sizeof(*chunk);
	thread.magic = CAP_THREAD_MAGIC;
	thread.next_id = chunk->next_id;
	thread.id_limit = UINT64_MAX;
	*ring = (struct wire_ring){.cur = memory + sizeof(*chunk),
				   .limit = memory + sizeof(memory) - WIRE_RECORD_MAX - WIRE_SLACK,
				   .chunk = chunk,
				   .last_tick = chunk->base_tick,
				   .next_id = chunk->next_id};
	fake_untraced = fake_bare = 0;
	memset(fake_phases, 0, sizeof(fake_phases));
}

void fake_read(struct wire_reader *reader)
{
	if (!wire_reader_init(reader, memory, sizeof(memory)))
		memset(reader, 0, sizeof(*reader));
}

uintptr_t fake_site(uint32_t id)
{
	return id < site_count ? sites[id] : 0;
}

void fake_want(struct cap_op *op, bool buffers, bool callbacks)
{
	atomic_store(&op->buffers, buffers);
	atomic_store(&op->callbacks, callbacks ? (const struct core_subscribers *)memory : NULL);
	atomic_store(&op->plan, callbacks ? CAP_PLAN_LOOK
				: buffers ? CAP_PLAN_STRAIGHT | 2u << CAP_PLAN_LEVEL_SHIFT
					  : CAP_PLAN_NOTHING);
	for (unsigned i = 0; i < OCL_OP_COUNT; i++)
		ocl_ops[i].wire = ocl_ops[i].number = (uint16_t)i;
	cap_slots_update(fake_domain);
}

void fake_level(struct cap_op *op, uint32_t level)
{
	atomic_store(&op->plan, CAP_PLAN_STRAIGHT | level << CAP_PLAN_LEVEL_SHIFT);
}

struct cap_thread *cap_thread_attach(void)
{
	cap_thread_current = &thread;
	return &thread;
}

uint32_t cap_site_slow(struct cap_thread *t, uintptr_t address)
{
	for (uint32_t i = 0; i < site_count; i++)
		if (sites[i] == address)
			return i;
	if (site_count == sizeof(sites) / sizeof(sites[0]))
		return UINT32_MAX;
	sites[site_count] = address;
	return site_count++;
}

void cap_slots_update(struct cap_domain *d)
{
	for (unsigned i = 0; i < OCL_LINKS; i++) {
		struct cap_slot *slot = &ocl_slots[i];
		struct cap_op *op = &ocl_ops[slot->op];
		bool on = atomic_load(&op->buffers) || atomic_load(&op->callbacks) ||
			  atomic_load(&op->keep);

		if (slot->next)
			atomic_store(&slot->target, on ? slot->wrapper : slot->next);
	}
}

/* Nobody intercepts. */
uint64_t intercept_add(const kymo_table_info_t *info, const struct intercept_source *source,
		       void *data)
{
	return 0;
}

bool intercept_leads_to(uint64_t table, uint32_t index, const void *function)
{
	return false;
}

void cap_require_wrapper(struct cap_domain *d, uint32_t op, bool on)
{
	atomic_store(&ocl_ops[op].keep, on);
}

void cap_callbacks(struct cap_frame *f, void *args, enum cap_phase phase)
{
	size_t size = *(const size_t *)args;

	fake_phases[phase]++;
	memcpy(fake_args, args, size < sizeof(fake_args) ? size : sizeof(fake_args));
}

void cap_record_bare(struct cap_frame *f)
{
	fake_bare++;
}

void cap_count_untraced(const char *part, const char *function)
{
	fake_untraced++;
}

struct wire_ring *cap_ring_slow(struct cap_thread *t, uint64_t buffers)
{
	return NULL;
}

void cap_ids_sample(struct cap_thread *t, struct cap_frame *f)
{
}

void cap_left_out_slow(const struct cap_op *op)
{
}

void cap_ids_refill(struct cap_thread *t)
{
}

/* The first call makes the thread; those with callbacks are no others than the rest but for them. */
struct cap_frame *cap_enter_slow(struct cap_op *op, const void *caller, const void *sp)
{
	uint32_t plan = atomic_load(&op->plan);
	struct cap_frame *f;

	cap_thread_attach();
	atomic_store(&op->plan, CAP_PLAN_STRAIGHT | 2u << CAP_PLAN_LEVEL_SHIFT);
	f = cap_enter_at(op, caller, sp);
	atomic_store(&op->plan, plan);
	f->plan = plan;
	atomic_store(&f->callbacks, atomic_load(&op->callbacks));
	atomic_store(&f->buffers, atomic_load(&op->buffers));
	return f;
}

void cap_leave_elsewhere(void)
{
}

void cap_retire(struct cap_frame *f)
{
}

bool cap_guard_left(struct cap_thread *t, const void *sp)
{
	return false;
}

bool cap_record_slow(struct cap_frame *f, struct wire_enc *e, unsigned fields)
{
	uint32_t plan = f->plan;
	bool begun;

	f->plan = CAP_PLAN_STRAIGHT;
	begun = cap_record(f, e, fields);
	f->plan = plan;
	return begun;
}

unsigned cap_args_many(uint64_t buffers)
{
	return 2;
}

uint64_t cap_external_asked(struct cap_thread *t, const struct cap_frame *f, unsigned buffer)
{
	return 0;
}

void cap_commit_slow(struct cap_frame *f, struct wire_enc *e, struct wire_ring *r)
{
}
