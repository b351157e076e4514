/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of functions, rewritten: blocks, accesses and operations of them, and the text that counts. */
#ifndef PTX_BODY_H
#define PTX_BODY_H

#include "base/text.h"
#include "ptx/decode.h"
#include "ptx/module.h"

struct ptx_place {
	uint32_t file, line, column; /* line 0: not told */
};

struct ptx_block {
	struct ptx_word function;
	const char *kind;
	struct ptx_place place;
};

struct ptx_site {
	uint32_t block;
	struct ptx_access access;
	struct ptx_place place;
};

struct ptx_work {
	uint32_t block;
	const char *what;
	uint64_t times;
	struct ptx_place place;
};

/* A mark of a region: it begins, or ends. */
struct ptx_region {
	uint32_t block;
	bool begins;
	struct ptx_word name;
	struct ptx_place place;
};

/* All bodies of a module that are rewritten, one after the other. */
struct ptx_bodies {
	const struct ptx_module *m;
	bool addresses, times; /* what is recorded */
	struct text source;
	struct ptx_block *blocks;
	uint32_t block_count, block_room;
	struct ptx_site *sites;
	uint32_t site_count, site_room;
	struct ptx_work *work;
	uint32_t work_count, work_room;
	struct ptx_region *regions;
	uint32_t region_count, region_room;
	uint32_t labels;
	const char *why; /* it is not rewritten */
	bool failed;     /* no memory */
};

/* Adds the body to `source`, with its braces. */
void ptx_body(struct ptx_bodies *b, const struct ptx_item *function);
void ptx_bodies_release(struct ptx_bodies *b);

#endif
