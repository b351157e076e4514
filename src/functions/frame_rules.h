/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of call frame information (DWARF 4, section 6.4.2) for instructions that were moved. */
#ifndef FUNCTIONS_FRAME_RULES_H
#define FUNCTIONS_FRAME_RULES_H

#include "functions/entries.h"
#include "functions/frame_table.h"

/* Adds what the function's entry says of the moved instructions; what holds for all functions of its common entry is not said again. */
void frame_rules_add(struct text *out, const struct entry_common *common,
		     const struct entry_function *f, const struct frame_moved *m);

#endif
