/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of call stacks as PerfSample packets, with the frames and files that they name. */
#ifndef FORMATS_PERFETTO_STACKS_H
#define FORMATS_PERFETTO_STACKS_H

#include "base/map.h"
#include "stream/stream.h"
#include "stream/symbol.h"

struct perfetto;

struct stacks {
	struct symbols *symbols;
	uint32_t part; /* in which what follows was written, + 1 */
	/* A bit for each that was written: stacks, sites (twice: as name and as frame), modules. */
	uint8_t *stacks, *sites, *modules;
	struct map places; /* of samples without a stack: pc to number of the stack - 1 */
	uint32_t place_count;
};

/* Writes a sample; of lost ones nothing. */
kymo_status_t stacks_sample(struct perfetto *p, const struct rec_sample *r);
/* NULL: no memory. */
struct symbols *stacks_symbols(struct perfetto *p);
void stacks_release(struct stacks *s);

#endif
