/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks for tools in the process: each is kept once, by the id that records carry. Traces
 * have them as definitions; here they are found at once.
 */
#include "core/define/define.h"
#include "base/locks.h"
#include "base/vec.h"
#include "core/process/process.h"
#include "core/tool/tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct stack {
	uint32_t count;
	uint64_t addresses[]; /* innermost first */
};

static struct stack **stacks
	GUARDED_BY(core_live->threads); /* by id; under `threads`, stacks themselves never change */
static uint32_t room;
static _Atomic bool kept;

void core_stacks_keep(void)
{
	atomic_store(&kept, true);
}

void core_stack_defined(uint32_t id, const uint64_t *addresses, uint32_t count)
{
	struct stack *s = atomic_load(&kept) ? malloc(sizeof(*s) + count * sizeof(uint64_t)) : NULL;

	if (!s)
		return;
	s->count = count;
	memcpy(s->addresses, addresses, count * sizeof(*addresses));
	pthread_mutex_lock(&core_live->threads);
	if (vec_reserve_zero(&stacks, &room, id, 1) && !stacks[id])
		stacks[id] = s;
	else
		free(s);
	pthread_mutex_unlock(&core_live->threads);
}

/* The child's ids begin anew; what was there stays where tools may still look. */
void core_stacks_fork_child(void) UNCHECKED_LOCKS
{
	if (room)
		memset(stacks, 0, room * sizeof(*stacks));
}

/* One that was defined before a tool asked for stacks. */
static void look_up(uint32_t id)
{
	uint64_t words[256];
	uint64_t before;
	struct wire_def d;
	const char *text;
	uint8_t *copy;
	size_t length;

	core_definitions_hold(&before);
	copy = core_definition_find(DEF_STACK, id, &d);
	core_definitions_let_go(&before);
	if (!copy)
		return;
	text = wire_def_text(&d, DEF_STACK_ADDRESSES, &length);
	length = length < sizeof(words) ? length : sizeof(words);
	memcpy(words, text, length);
	core_stack_defined(id, words, (uint32_t)(length / 8));
	free(copy);
}

static const struct stack *stack_get(uint32_t id)
{
	const struct stack *s;

	pthread_mutex_lock(&core_live->threads);
	s = id < room ? stacks[id] : NULL;
	pthread_mutex_unlock(&core_live->threads);
	return s;
}

static kymo_status_t get_addresses(uint32_t id, const uint64_t **addresses, uint32_t *count)
{
	const struct stack *s = id ? stack_get(id) : NULL;

	if (id && !s) {
		look_up(id);
		s = stack_get(id);
	}
	if (!s)
		return KYMO_ERROR_NOT_FOUND;
	*addresses = s->addresses;
	*count = s->count;
	return KYMO_OK;
}

kymo_status_t kymo_record_stack(const kymo_record_t *record, const uint64_t **addresses,
				uint32_t *count)
{
	const struct wire_record *w = record ? record->internal : NULL;

	if (!w || !addresses || !count)
		return KYMO_ERROR_INVALID_ARGUMENT;
	return get_addresses(w->stack, addresses, count);
}

kymo_status_t kymo_callback_stack(const kymo_callback_record_t *record, const uint64_t **addresses,
				  uint32_t *count)
{
	const struct core_callback_info *told = record ? record->internal : NULL;

	if (!told || !addresses || !count)
		return KYMO_ERROR_INVALID_ARGUMENT;
	return get_addresses(told->wire ? told->wire->stack : told->stack, addresses, count);
}
