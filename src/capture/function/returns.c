/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs and the calls they stand for: what is done at every call. Compiled for general registers alone (CMakeLists.txt);
 * what is out of the ordinary is in returns_slow.c.
 */
#include "capture/function/returns.h"

enum function_todo function_enter_fast(struct cap_op *op, const void **slot)
{
	struct function_thread *s = &function_thread;
	const void *original = *slot;
	uint32_t at = s->free;

	if (cap_unlikely(s->busy))
		return FUNCTION_DONE;
	if (cap_unlikely(!at || function_is_return(original) ||
			 (s->open && function_return_table[s->open].slot <= slot)))
		return FUNCTION_SLOW;
	function_take(s, at);
	if (cap_unlikely(!function_begin_fast(&function_return_table[at].call, op, original,
					      slot + 1))) {
		function_give(s, at);
		return FUNCTION_SLOW;
	}
	function_open(s, at, slot);
	return FUNCTION_DONE;
}

enum function_todo function_hook_fast(uintptr_t address, const void **slot)
{
	struct cap_op *op;

	if (cap_unlikely(!function_returns_on))
		return FUNCTION_DONE;
	if (cap_unlikely(!function_known(address, &op)))
		return FUNCTION_SLOW;
	return op ? function_enter_fast(op, slot) : FUNCTION_DONE;
}

enum function_todo function_leave_fast(const void **slot)
{
	struct function_thread *s = &function_thread;
	uint32_t at = function_return_of(*slot);
	struct function_return *r = &function_return_table[at];

	if (cap_unlikely(s->open != at || r->slot != slot))
		return FUNCTION_SLOW;
	if (cap_unlikely(!function_end_fast(&r->call, function_around(r))))
		return FUNCTION_SLOW;
	*slot = r->original;
	function_close(s, at);
	return FUNCTION_DONE;
}
