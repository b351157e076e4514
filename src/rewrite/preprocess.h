/* SPDX-License-Identifier: Apache-2.0 */
/* The program without macros: what `clang -E` makes of it, as the program's build options say. */
#ifndef REWRITE_PREPROCESS_H
#define REWRITE_PREPROCESS_H

#include <stdint.h>

#include "rewrite/rewrite.h"

/* Words, NULL terminated. */
struct words {
	char **items;
	uint32_t count, room;
	bool failed; /* no memory */
};

void words_add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void words_release(struct words *w);

/* What both the preprocessor and libclang are told. `rest`: options that building the rewritten text still needs. */
void preprocess_options(const struct rewrite_request *q, const struct clang *c, struct words *both,
			struct words *macros, struct text *rest);

/* False: `why` says why not; `program_error`: the program is wrong, not the machine. */
bool preprocess(const struct rewrite_request *q, const struct clang *c, const struct words *both,
		const struct words *macros, struct text *out, bool *program_error,
		char why[REWRITE_WHY]);

#endif
