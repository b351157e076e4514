/* SPDX-License-Identifier: Apache-2.0 */
/* The first instructions of a function, moved: code that does the same in another place (wire/plan.h says how it is put there). */
#ifndef FUNCTIONS_RELOCATE_H
#define FUNCTIONS_RELOCATE_H

#include "functions/decode.h"
#include "functions/verdict.h"
#include "wire/plan.h"

enum { RELOCATED_FIXUPS = 12, RELOCATED_MOVES = 8 };

struct relocated {
	uint64_t site;
	uint8_t code[PLAN_CODE_MAX];
	uint8_t bytes;
	uint8_t covered;
	uint8_t how;    /* enum plan_how */
	uint16_t flags; /* enum plan_flags: of the site */
	uint8_t fixup_count, move_count;
	struct plan_fixup fixups[RELOCATED_FIXUPS];
	struct plan_move moves[RELOCATED_MOVES];
};

/*
 * Moves the instructions at `entry`, behind an endbr64 and, if they are to stay, an XRay sled, that a jump of 5 bytes covers. `code` has them, `bytes` of the function and
 * then others, which may be covered where they are padding; `left` in all. VERDICT_CHOSEN: it can be done, as far as these bytes tell.
 */
enum verdict relocate(struct decoder *d, const uint8_t *code, uint64_t bytes, uint64_t left,
		      uint64_t entry, bool sleds_stay, struct relocated *out);

#endif
