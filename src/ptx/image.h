/* SPDX-License-Identifier: Apache-2.0 */
/* PTX out of images of code. */
#ifndef PTX_IMAGE_H
#define PTX_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/*
 * The PTX in an image for a device of this architecture (90), as the driver would choose it: the newest that it can run. Of several for
 * it, those that have the kernel come first. NULL: `out` has it; else why there is none.
 */
const char *ptx_of_image(const void *image, size_t bytes, uint32_t arch, const char *kernel,
			 struct text *out);

/* Machine code is known by its size and this sum over its bytes. */
uint64_t ptx_sum(const void *bytes, size_t size);

/*
 * The PTX of which Triton made this machine code: it lies beside it in Triton's cache, and that of torch.compile. NULL: `out` has it; else
 * why there is none.
 */
const char *ptx_beside_cubin(uint64_t size, uint64_t sum, const char *kernel, struct text *out);

/* Of LZ4's blocks. False: they are no such, or are longer. */
bool ptx_unpack_lz4(const uint8_t *from, size_t bytes, uint8_t *to, size_t room, size_t *length);

#endif
