/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files whose functions are patched on disk, for systems where code in memory may not be changed. Of a file whose functions were judged another
 * one is made: two more segments, the program headers moved into the first of them. What is patched is what is patched in memory (wire/plan.h).
 *
 *	to be run	program headers, note, plan, call frame information (frame_table.h), of each function:
 *				1:	cmpq $0, slot(%rip)
 *					je 2f
 *					call *entry(%rip)
 *				2:	what its first bytes did
 *	to be written	entry, slots
 *
 * A call among the moved instructions pushes an address that is made of its own (call, add), so that nothing has to be relocated.
 */
#ifndef FUNCTIONS_INSTRUMENT_H
#define FUNCTIONS_INSTRUMENT_H

#include "base/text.h"
#include "functions/functions.h"

struct instrumented {
	uint32_t functions;
	bool unframed;   /* its call frame information is of a kind that cannot be moved */
	bool unshadowed; /* it could use a shadow stack; the file that was made must not */
	char why[IMAGE_WHY];
};

/* What cannot be instrumented of a file, whatever its functions; NULL: nothing. */
const char *instrument_refused(const struct functions *f);

/* Adds the new file's bytes to the empty `out`, those chosen of `f` patched. False: told->why says why. */
bool instrument(struct functions *f, struct decoder *d, struct text *out,
		struct instrumented *told);

#endif
