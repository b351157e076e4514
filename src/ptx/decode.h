/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction of PTX does, from its name: memory, operations, where it goes on. */
#ifndef PTX_DECODE_H
#define PTX_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum { PTX_ACCESSES = 2 };

struct ptx_access {
	const char *kind; /* "load", "store", "atomic" */
	const char *
		space; /* "global", "local" (CUDA's shared), "private" (CUDA's local), "constant", "generic" */
	uint32_t bytes;  /* of a thread; 0: an operand says it */
	uint8_t operand; /* its address is the how-manieth in brackets, from 0 */
	bool addressed;  /* each thread has the address of what it accesses */
};

struct ptx_decoded {
	struct ptx_access access[PTX_ACCESSES];
	uint32_t accesses;
	const char *work; /* class of operations, as `kymo rewrite` names them, or NULL */
	uint32_t times;
	bool branches;       /* it may go elsewhere */
	bool ends;           /* no thread goes on behind it, unless it is guarded */
	const char *refused; /* why a kernel that has it is left alone, or NULL */
};

/* `name` with all of its points. */
void ptx_decode(const char *name, uint32_t length, bool guarded, struct ptx_decoded *out);

#endif
