/* SPDX-License-Identifier: Apache-2.0 */
/* See image.h. */
#include "ptx/image.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/fatbin.h"

#define UNPACKED_MAX (512u << 20)
#define GROWS_BY     64u /* of what does not tell its size: so many times at most */

static const char no_memory[] = "there was no memory for it";

/* It is not linked: what the library is loaded into must not bring it. */
static const char *unpack_zstd(const struct ptx_entry *e, uint8_t *to, size_t room, size_t *length)
{
	size_t (*decompress)(void *, size_t, const void *, size_t);
	void *library = dlopen("libzstd.so.1", RTLD_NOW), *at;

	at = library ? dlsym(library, "ZSTD_decompress") : NULL;
	if (!at)
		return "its PTX is packed with zstd, and libzstd.so.1 was not found";
	memcpy(&decompress, &at, sizeof(at));
	*length = decompress(to, room, e->header + e->header_bytes, e->bytes);
	return *length <= room ? NULL : "its PTX cannot be unpacked (zstd)";
}

static const char *unpack(const struct ptx_entry *e, struct text *out)
{
	const uint8_t *from = e->header + e->header_bytes;
	size_t room = e->unpacked ? (size_t)e->unpacked : e->bytes * GROWS_BY, length = 0;
	const char *why = NULL;
	uint8_t *to;

	if (e->packing == PTX_PLAIN) {
		text_add_bytes(out, (const char *)from, e->bytes);
		return out->failed ? no_memory : NULL;
	}
	if (room > UNPACKED_MAX)
		return "its PTX is larger than 512 MiB";
	to = malloc(room + 1);
	if (!to)
		return no_memory;
	if (e->packing == PTX_ZSTD)
		why = unpack_zstd(e, to, room, &length);
	else if (!ptx_unpack_lz4(from, e->bytes, to, room, &length))
		why = "its PTX cannot be unpacked (LZ4)";
	if (!why)
		text_add_bytes(out, (const char *)to, length);
	free(to);
	return why ? why : out->failed ? no_memory : NULL;
}

static bool names(const struct text *t, const char *kernel)
{
	return t->s && memmem(t->s, t->length, kernel, strlen(kernel));
}

/* Unpacks all that the device can run; keeps the newest that has the kernel. */
static const char *of_fatbin(const void *image, size_t bytes, uint32_t arch, const char *kernel,
			     struct text *out)
{
	const char *why = "its module has no PTX that the device can run";
	uint32_t best = 0;
	struct ptx_entry e;
	size_t at = 0;

	while (ptx_fatbin_next(image, bytes, &at, &e)) {
		struct text one = {0};
		const char *failed;

		if (!e.is_ptx || e.arch > arch || e.arch < best)
			continue;
		failed = unpack(&e, &one);
		if (!failed && (!out->s || names(&one, kernel))) {
			text_release(out);
			*out = one;
			best = names(out, kernel) ? e.arch : 0;
		} else {
			text_release(&one);
		}
		why = failed;
	}
	return out->s ? NULL : why;
}

const char *ptx_of_image(const void *image, size_t bytes, uint32_t arch, const char *kernel,
			 struct text *out)
{
	switch (ptx_image_in(image, bytes)) {
	case PTX_IMAGE_TEXT:
		text_add_bytes(out, image, bytes);
		return out->failed ? no_memory : NULL;
	case PTX_IMAGE_FATBIN:
		return of_fatbin(image, bytes, arch, kernel, out);
	case PTX_IMAGE_CUBIN:
		return "its module is machine code without PTX";
	case PTX_IMAGE_OTHER:
		break;
	}
	return "its module is of no known kind";
}
