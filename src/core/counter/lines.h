/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of kernels between core and the backends that can instrument kernels: core knows which launches are chosen, and
 * writes what was counted of them, block by block and in all; how a kernel is made to count is the backend's.
 */
#ifndef CORE_COUNTER_LINES_H
#define CORE_COUNTER_LINES_H

#include <kymo/counter.h>

#include "core/counter/kernel.h"

/* A part of a kernel, as DEF_PLACE has it. */
struct cap_place {
	uint32_t program;
	const char *function, *what, *kind, *file;
	uint32_t block; /* id of the place it belongs to; of a block 0 */
	uint32_t line, column;
	uint64_t times, bytes;
};

/* Id of a new place, which is defined then. */
uint32_t cap_place_define(const struct cap_place *place);

/* What a launch does in all; each is a counter of the provider "instrument". X(enumerator, name, unit, description) */
#define CAP_LINE_SPACE(X, K, name)                                                                 \
	X(K##_LOADS, #name "_loads", "", "loads from " #name " memory")                            \
	X(K##_LOAD_BYTES, #name "_load_bytes", "bytes", "bytes that they load")                    \
	X(K##_STORES, #name "_stores", "", "stores to " #name " memory")                           \
	X(K##_STORE_BYTES, #name "_store_bytes", "bytes", "bytes that they store")                 \
	X(K##_ATOMICS, #name "_atomics", "", "atomic operations on " #name " memory")              \
	X(K##_ATOMIC_BYTES, #name "_atomic_bytes", "bytes", "bytes that they change")
#define CAP_LINE_TOTALS(X)                                                                         \
	CAP_LINE_SPACE(X, GLOBAL, global)                                                          \
	CAP_LINE_SPACE(X, CONSTANT, constant)                                                      \
	CAP_LINE_SPACE(X, LOCAL, local)                                                            \
	CAP_LINE_SPACE(X, PRIVATE, private)                                                        \
	CAP_LINE_SPACE(X, GENERIC, generic)                                                        \
	CAP_LINE_SPACE(X, IMAGE, image)                                                            \
	X(FLOP_HALF, "flops_half", "", "operations on half precision numbers")                     \
	X(FLOP_SINGLE, "flops_single", "", "operations on single precision numbers")               \
	X(FLOP_DOUBLE, "flops_double", "", "operations on double precision numbers")               \
	X(INT, "int_operations", "", "operations on integers")                                     \
	X(BRANCH, "branches", "", "conditions that decided where to go on")                        \
	X(BARRIER, "barriers", "", "work items that met a barrier")                                \
	X(WARP_INSTRUCTIONS, "warp_instructions", "", "instructions that warps executed")          \
	X(ITEM_INSTRUCTIONS, "item_instructions", "", "instructions that work items executed")     \
	X(BRANCH_UNIFORM, "branches_uniform", "", "branches of warps whose items went one way")    \
	X(BRANCH_DIVERGENT, "branches_divergent", "", "branches of warps whose items parted")      \
	X(SECTORS_NEEDED, "sectors_needed", "", "sectors of global memory that accesses fill")     \
	X(SECTORS_USED, "sectors_used", "", "sectors of global memory that accesses take")         \
	X(ROUNDS_NEEDED, "rounds_needed", "", "rounds of local memory without bank conflicts")     \
	X(ROUNDS_USED, "rounds_used", "", "rounds of local memory that accesses take")

enum cap_line_total {
#define CAP_LINE_TOTAL(K, name, unit, description) CAP_LINE_##K,
	CAP_LINE_TOTALS(CAP_LINE_TOTAL)
#undef CAP_LINE_TOTAL
		CAP_LINE_TOTAL_COUNT,
	CAP_LINE_DEVICE_FIRST = CAP_LINE_WARP_INSTRUCTIONS /* from here on only devices count */
};

/* How many want lines and are at work. */
extern _Atomic uint32_t cap_lines_services;
/* Somebody wants lines of some kernels; false: nothing below is to be called. */
static inline bool cap_lines_wanted(void)
{
	return atomic_load_explicit(&cap_lines_services, memory_order_relaxed) != 0;
}

/* Whether those who want lines of kernels want them of this launch. */
bool cap_lines_chosen(const kymo_counter_launch_t *launch);

/* The launch was counted: blocks by the ids of their places, those of id 0 are left out. */
struct cap_line_counts {
	const struct cap_launch *launch;
	const uint32_t *blocks;
	const uint64_t *counts;
	uint32_t count;
	double totals[CAP_LINE_TOTAL_COUNT];
	uint64_t start, end; /* ns, as counter_event has them */
	bool instead;        /* the instrumented kernel ran in the place of the program's */
};
void cap_lines_write(const struct cap_line_counts *c);

/* What an instruction of the machine does with memory. */
enum cap_instruction_access {
	CAP_INSTRUCTION_NONE,
	CAP_INSTRUCTION_LOAD,
	CAP_INSTRUCTION_STORE,
	CAP_INSTRUCTION_ATOMIC
};
enum cap_instruction_space { CAP_SPACE_NONE, CAP_SPACE_GLOBAL, CAP_SPACE_LOCAL, CAP_SPACE_PRIVATE };

/* An instruction of a launch that the device itself counted; what does not apply is 0. */
struct cap_line_instruction {
	uint32_t code;         /* of cap_device_code() */
	uint64_t warps, items; /* that executed it; work items that were active */
	enum cap_instruction_access access;
	enum cap_instruction_space space;
	uint64_t bytes, accesses; /* of a work item; of all work items */
	uint64_t sectors_needed, sectors_used, rounds_needed, rounds_used;
	uint64_t uniform, divergent; /* branches */
};
void cap_lines_write_instruction(const struct cap_launch *launch,
				 const struct cap_line_instruction *i, uint32_t warp, bool instead);

struct lanes_count; /* lanes/lanes.h */
/* What a device in lockstep makes of the accesses of a place. */
void cap_lines_write_access(const struct cap_launch *launch, uint32_t place,
			    const kymo_lanes_profile_t *p, const struct lanes_count *n);

/* A table that a handler reported of it, or a part: a blob of JSON. */
void cap_lines_write_report(const struct cap_launch *launch, uint32_t blob);

#endif
