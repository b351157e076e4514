/* SPDX-License-Identifier: Apache-2.0 */
/* Patching the functions of a plan in memory (patch.c), in place of what is written near them (near.c). */
#ifndef CAPTURE_FUNCTION_PATCH_H
#define CAPTURE_FUNCTION_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_function;
struct plan_module;

/*
 * Patches what is to be patched of a module, which no thread of the program is in. What is not, and why, is noted. Once for each
 * time that it is loaded.
 */
void function_patch(uintptr_t bias, const struct plan_module *m);

/* Nothing was done to it since it was loaded: it was unloaded and came back to the same place. */
bool function_is_fresh(uintptr_t bias, const struct plan_module *m);

/*
 * A thread that stands in a trampoline stands, for those who look at its stack, in the function: the same registers, the same
 * stack. Anything else stays as it is. In signal handlers, too.
 */
struct unwind_registers;
void function_undo(struct unwind_registers *r);
/* The same in the stub of a file that was instrumented (instrumented.c). */
void function_undo_slot(struct unwind_registers *r);
/* It stands at this offset of the function's copy. */
void function_undo_at(struct unwind_registers *r, uintptr_t bias, const struct plan_function *f,
		      uint32_t offset);

/* The module was instrumented; then its slots are filled, whatever its threads do (instrumented.c). */
bool function_has_slots(const struct plan_module *m);
void function_fill(uintptr_t bias, const struct plan_module *m);

/* ---- code near a module (near.c) ---- */

struct near {
	uint8_t *at;    /* to be written until it is closed */
	uintptr_t runs; /* where it will run; the same, or another mapping of it */
	size_t bytes;
	int file; /* -1, or of the two mappings */
};

/* Memory of which all addresses from `low` to `high` can be reached by 32 bits and the other way. False: there is none. */
bool near_open(struct near *n, uintptr_t low, uintptr_t high, size_t bytes);
/* It may be run from here on, and not written. False: it may not be run; it is gone. */
bool near_close(struct near *n);

/* Writes into code that nobody runs just now, whatever its protection. False: it is not allowed. */
bool near_write(uintptr_t at, const void *bytes, size_t count);

#endif
