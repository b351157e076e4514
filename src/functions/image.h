/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file of x86-64 as bytes: segments, sections, build id. The file may be damaged or made to mislead: whatever is asked for lies
 * in it, or is not there. Little endian; the file must not be truncated while it is mapped.
 */
#ifndef FUNCTIONS_IMAGE_H
#define FUNCTIONS_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/plan.h"

enum { IMAGE_SEGMENTS = 64, IMAGE_WHY = 200 };

struct image_part {
	const uint8_t *bytes;
	uint64_t at; /* address; 0: a section that is not loaded */
	uint64_t size;
	uint32_t type, flags, link, info; /* of a section: sh_*; of a segment p_flags alone */
};

struct image {
	char *path; /* absolute, links resolved; NULL: of bytes */
	const uint8_t *bytes;
	size_t size;
	uint64_t device, inode, mtime_ns;
	uint16_t kind;                              /* e_type: ET_EXEC, ET_DYN */
	uint64_t start;                             /* e_entry */
	uint64_t low, high;                         /* addresses of what is loaded: from, to */
	struct image_part segments[IMAGE_SEGMENTS]; /* PT_LOAD, what of them lies in the file */
	unsigned segment_count;
	struct image_part dynamic, frame_header; /* size 0: none */
	uint8_t build_id[PLAN_BUILD_ID];
	uint32_t build_id_bytes;
	const char *interpreter; /* or NULL */
	bool instrumented;       /* by `kymo instrument`; the plan in it: */
	uint64_t plan_at, plan_bytes;
	bool mapped;
};

/* False: `why` says what is wrong with it. image_close() in any case. */
bool image_open(struct image *out, const char *path, char why[IMAGE_WHY]);
/* The same of bytes, which stay the caller's. */
bool image_open_bytes(struct image *out, const void *bytes, size_t size, char why[IMAGE_WHY]);
void image_close(struct image *m);

/* The file's bytes for the address and how many follow; NULL: it is not in the file. */
const uint8_t *image_at(const struct image *m, uint64_t at, uint64_t *left);
/* The same of code. */
const uint8_t *image_code(const struct image *m, uint64_t at, uint64_t *left);

/* Section `index`; false: there is none. SHT_NOBITS has no bytes. */
bool image_section(const struct image *m, unsigned index, struct image_part *out);
unsigned image_sections(const struct image *m);
const char *image_section_name(const struct image *m, unsigned index);
bool image_find_section(const struct image *m, const char *name, struct image_part *out);

/* The value of the first entry of the dynamic section with this tag; 0: there is none. */
uint64_t image_dynamic(const struct image *m, int64_t tag);
/* It is linked with a library whose name begins so. */
bool image_needs(const struct image *m, const char *begin);

/* A string of a table; NULL: it does not end in it. */
const char *image_string(const struct image_part *table, uint64_t at);

#endif
