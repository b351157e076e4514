/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks by communicators of NCCL. Private to the reader of raw files. */
#ifndef FORMATS_RAW_NCCL_RANKS_H
#define FORMATS_RAW_NCCL_RANKS_H

#include <stdbool.h>

struct raw_trace;

/*
 * Gives the processes their ranks whose communicator is the whole of a job, but for those that have
 * ranks by MPI, and says in `found` of which of them. False: no memory.
 */
bool nccl_ranks(struct raw_trace *rt, bool *found);

#endif
