/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of code as the CUDA driver is given them: PTX as text, machine code (ELF), and fat binaries, which hold several of
 * both. Only what is seen to lie in the image is read.
 */
#ifndef PTX_FATBIN_H
#define PTX_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_image { PTX_IMAGE_OTHER, PTX_IMAGE_TEXT, PTX_IMAGE_CUBIN, PTX_IMAGE_FATBIN };

/* A piece of a fat binary. */
struct ptx_entry {
	const uint8_t *header; /* with what follows it */
	size_t header_bytes, bytes;
	bool is_ptx;
	uint32_t arch; /* 90 */
	enum ptx_packing { PTX_PLAIN, PTX_LZ4, PTX_ZSTD } packing;
	uint64_t unpacked; /* bytes; 0: not told */
};

/*
 * What lies at a place in memory of which only the kind is known, as it tells itself how long it is. `*bytes`: so long. A fat binary may be
 * given by its wrapper: `*image` is where it lies.
 */
enum ptx_image ptx_image_at(const void **image, size_t *bytes);
/* The same of so many bytes. */
enum ptx_image ptx_image_in(const void *image, size_t bytes);

/* The next entry of a fat binary. `*at` is 0 at first. False: there is none. */
bool ptx_fatbin_next(const void *image, size_t bytes, size_t *at, struct ptx_entry *out);

#endif
