/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of a page: each is compressed on its own, and lies in a temporary file until the page is written. */
#ifndef PAGE_SECTION_H
#define PAGE_SECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include <kymo/status.h>

#include "base/text.h"
#include "page/rows.h"

/* What the sections are of, for those who ask where the bytes went. */
enum section_kind {
	SECTION_LEVELS,
	SECTION_SLICES,
	SECTION_CURVES,
	SECTION_MESSAGES,
	SECTION_SEARCH,
	SECTION_KINDS
};

struct section {
	uint64_t offset; /* in the data of the page */
	uint32_t length, raw;
};

struct sections {
	int fd;
	struct page_temporary where;
	uint64_t end; /* bytes */
	uint64_t bytes[SECTION_KINDS];
	struct section *at;
	uint32_t count, room;
	z_stream z;
	bool open;       /* z is */
	int level;       /* of compression */
	uint8_t *packed; /* scratch */
	size_t packed_room;
};

/* Where sections stand, to go back to. */
struct section_mark {
	uint64_t end, bytes[SECTION_KINDS];
	uint32_t count;
};

/* What fails here and below because of the file has been told. */
kymo_status_t sections_init(struct sections *s, struct page_temporary where);
void sections_release(struct sections *s);

/* Forgets all that were put since. */
struct section_mark sections_mark(const struct sections *s);
kymo_status_t sections_go_back(struct sections *s, const struct section_mark *to);

/* Number of a section that is put later. UINT32_MAX: no memory. */
uint32_t sections_reserve(struct sections *s);
kymo_status_t sections_put(struct sections *s, uint32_t number, enum section_kind kind,
			   const void *data, size_t bytes);

/* Bytes that `data` takes when it is compressed; 0: no memory. */
size_t sections_try(struct sections *s, const void *data, size_t bytes);

#endif
