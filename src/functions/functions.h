/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a file, and for each whether it can be traced by patching its first bytes. Found by symbols (.symtab, .dynsym, those of
 * a file with debug information) and by call frame information. What is looked at, of a function that is wanted:
 *
 *  - its first instructions are moved (relocate.h);
 *  - no branch of the module leads into the covered bytes: all places of the code whose bytes could be such a branch, or take such
 *    an address, are looked for, whether they are decoded or not; where one is found the functions around it are decoded to see;
 *  - no address in data (relocated words; in files with a fixed address any aligned word) leads there;
 *  - where the function has an indirect jump: no entry of a table of 32-bit distances, or of absolute addresses, that the function
 *    takes the address of leads there; a table ends at the first entry that leads out of the function;
 *  - no landing pad, and no other function, begins there.
 */
#ifndef FUNCTIONS_FUNCTIONS_H
#define FUNCTIONS_FUNCTIONS_H

#include "functions/decode.h"
#include "functions/frames.h"
#include "functions/image.h"
#include "functions/verdict.h"

enum function_source {
	FUNCTION_SYMBOL = 1,
	FUNCTION_FRAME = 2,
	FUNCTION_RESOLVER = 4,
	FUNCTION_LINKED = 8 /* a symbol that other objects are, or were, linked by */
};

struct function {
	uint64_t entry, bytes;
	const char *name;      /* as the symbol table has it; NULL: it has none */
	uint32_t names;        /* how many symbols have its address */
	uint32_t instructions; /* 0: not all of it could be decoded */
	uint16_t flags;        /* enum plan_flags */
	uint8_t source;        /* enum function_source */
	uint8_t verdict;       /* enum verdict */
	uint8_t offset;        /* of the site from the entry */
	uint8_t covered;       /* 0: not looked at */
	bool wanted;
};

struct functions {
	struct image image,
		debug; /* `debug`: a file with the symbols that were stripped; or none */
	struct frames frames;
	struct function *items; /* by rising address, each address once */
	uint32_t count, room;
	bool sleds; /* XRay's, which its runtime writes when it is asked to: they stay as they are */
	const char
		*hook; /* it imports this: a compiler has put calls into its functions; or NULL */
};

/* Finds the functions of the file; false: `why`. functions_release() in any case. */
bool functions_find(struct functions *f, const char *path, char why[IMAGE_WHY]);
/* The same of bytes, which stay the caller's. */
bool functions_find_in(struct functions *f, const void *bytes, size_t size, char why[IMAGE_WHY]);
void functions_release(struct functions *f);

/* Index of the last that begins at the address or before it; f->count: none. */
uint32_t functions_before(const struct functions *f, uint64_t at);

/* Looks at those that are `wanted`; their verdict is VERDICT_CHOSEN or says why not. False: no memory. */
bool functions_judge(struct functions *f, struct decoder *d);

#endif
