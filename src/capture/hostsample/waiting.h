/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of this process waits for, as the system tells of one that has no processor. */
#ifndef CAPTURE_HOSTSAMPLE_WAITING_H
#define CAPTURE_HOSTSAMPLE_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sample/sample.h"

#define WAITING_PATH  128u
#define WAITING_DEPTH 96u /* of its stack the innermost are kept */

struct waiting {
	enum cap_off_cpu kind;
	char call[24];           /* the system call; "" in none */
	char path[WAITING_PATH]; /* of the file that it is about, cut; "" of none */
	uint64_t object;         /* address of the futex, number of the descriptor; 0 of neither */
	uint64_t pc;             /* where it was entered */
	uint64_t addresses[WAITING_DEPTH]; /* its stack, as for a sample */
	uint32_t count;
	enum stack_end end;
};

/* False: it runs, or has ended. */
bool waiting_look(uint32_t tid, struct waiting *out);
/* The processor that it ran on last; 0 where that is not known. */
uint32_t waiting_cpu(uint32_t tid);

#endif
