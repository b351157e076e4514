/* SPDX-License-Identifier: Apache-2.0 */
/* Writing plans (wire/plan.h). */
#ifndef FUNCTIONS_BUILD_H
#define FUNCTIONS_BUILD_H

#include "base/map.h"
#include "base/text.h"
#include "functions/functions.h"

/* Ops of a domain are 16 bits. */
enum { BUILD_FUNCTIONS_MAX = 60000 };

/* All zero is an empty plan. */
struct build {
	struct plan_module *modules;
	struct plan_function *functions;
	struct plan_fixup *fixups;
	struct plan_move *moves;
	uint32_t module_count, module_room;
	uint32_t function_count, function_room;
	uint32_t fixup_count, fixup_room;
	uint32_t move_count, move_room;
	struct text code, strings;
	struct map names; /* hash of a name: its place in `strings` plus one */
};

/* Adds the functions of a file that are chosen; those for which there is no room get VERDICT_TOO_MANY. False: no memory. */
bool build_add(struct build *b, struct functions *f, struct decoder *d);

/* The same of a file that was instrumented: the functions of the plan that lies in it; how many there are is added to *count. */
bool build_add_instrumented(struct build *b, const struct image *m, uint64_t *count);

/* The plan's bytes, added to `out`; false: no memory. */
bool build_finish(const struct build *b, struct text *out);

void build_release(struct build *b);

#endif
