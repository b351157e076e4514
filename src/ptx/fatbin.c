/* SPDX-License-Identifier: Apache-2.0 */
/* See fatbin.h. The form is no documented one: what is stated here was seen in those of CUDA 11 to 13. */
#include "ptx/fatbin.h"

#include <elf.h>
#include <string.h>

#define WRAPPER 0x466243b1u
#define FATBIN  0xba55ed50u

enum { KIND_PTX = 1 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

struct wrapper {
	uint32_t magic, version;
	const void *data;
	const void *more;
};

struct head {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* behind the header */
};

struct entry {
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t bytes; /* of what follows, with what fills it up */
	uint32_t packed_bytes, options;
	uint16_t minor, major;
	uint32_t arch;
	uint32_t name, name_bytes;
	uint64_t flags, zero, unpacked;
};

static uint32_t magic_of(const void *image)
{
	uint32_t magic;

	memcpy(&magic, image, sizeof(magic));
	return magic;
}

/* Sections and their headers are where it says, and nothing lies behind the last. */
static size_t elf_bytes(const void *image)
{
	Elf64_Ehdr e;
	size_t end;

	memcpy(&e, image, sizeof(e));
	if (e.e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	end = e.e_shoff + (size_t)e.e_shnum * e.e_shentsize;
	if (e.e_phoff && e.e_phoff + (size_t)e.e_phnum * e.e_phentsize > end)
		end = e.e_phoff + (size_t)e.e_phnum * e.e_phentsize;
	return end;
}

enum ptx_image ptx_image_at(const void **image, size_t *bytes)
{
	struct wrapper w;
	struct head h;
	const char *text = *image;

	*bytes = 0;
	if (magic_of(*image) == WRAPPER) {
		memcpy(&w, *image, sizeof(w));
		*image = w.data;
	}
	if (!*image)
		return PTX_IMAGE_OTHER;
	if (magic_of(*image) == FATBIN) {
		memcpy(&h, *image, sizeof(h));
		*bytes = h.header_bytes + (size_t)h.bytes;
		return PTX_IMAGE_FATBIN;
	}
	if (memcmp(*image, ELFMAG, SELFMAG) == 0) {
		*bytes = elf_bytes(*image);
		return PTX_IMAGE_CUBIN;
	}
	if (!*text || (unsigned char)*text > 126)
		return PTX_IMAGE_OTHER;
	*bytes = strlen(text);
	return ptx_image_in(text, *bytes);
}

/* Text that has the directive with which PTX begins. */
enum ptx_image ptx_image_in(const void *image, size_t bytes)
{
	if (bytes >= sizeof(struct head) && magic_of(image) == FATBIN)
		return PTX_IMAGE_FATBIN;
	if (bytes >= sizeof(Elf64_Ehdr) && memcmp(image, ELFMAG, SELFMAG) == 0)
		return PTX_IMAGE_CUBIN;
	return memmem(image, bytes, ".version", 8) ? PTX_IMAGE_TEXT : PTX_IMAGE_OTHER;
}

/* A fat binary may be several, one behind the other. */
static bool skip_head(const uint8_t *image, size_t bytes, size_t *at)
{
	struct head h;

	if (bytes - *at < sizeof(h) || magic_of(image + *at) != FATBIN)
		return true;
	memcpy(&h, image + *at, sizeof(h));
	if (h.header_bytes < sizeof(h) || h.header_bytes > bytes - *at)
		return false;
	*at += h.header_bytes;
	return true;
}

bool ptx_fatbin_next(const void *image, size_t bytes, size_t *at, struct ptx_entry *out)
{
	const uint8_t *from = image;
	struct entry e;

	if (*at >= bytes || !skip_head(from, bytes, at) || bytes - *at < sizeof(e))
		return false;
	memcpy(&e, from + *at, sizeof(e));
	if (e.header_bytes < sizeof(e) || e.header_bytes > bytes - *at ||
	    e.bytes > bytes - *at - e.header_bytes)
		return false;
	*out = (struct ptx_entry){.header = from + *at,
				  .header_bytes = e.header_bytes,
				  .bytes = (size_t)e.bytes,
				  .is_ptx = e.kind == KIND_PTX,
				  .arch = e.arch,
				  .unpacked = e.unpacked};
	if (e.flags & FLAG_ZSTD)
		out->packing = PTX_ZSTD;
	else if (e.flags & FLAG_LZ4)
		out->packing = PTX_LZ4;
	if (out->packing != PTX_PLAIN && e.packed_bytes && e.packed_bytes <= out->bytes)
		out->bytes = e.packed_bytes;
	*at += e.header_bytes + (size_t)e.bytes;
	return true;
}
