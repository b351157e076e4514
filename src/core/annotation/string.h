/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that foreign annotation interfaces (NVTX, ITT, Kokkos) hand over once and use often, and
 * the numbered categories of their domains. All of it lives until the process ends, takes no lock,
 * and may be used from any thread.
 */
#ifndef CORE_ANNOTATION_STRING_H
#define CORE_ANNOTATION_STRING_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define KYMO_MARKER_LINKED
#include <kymo/marker.h>

#define ANNOTATION_TEXT_MAX (1u << 20) /* bytes kept of a registered text; what is longer is cut */

/*
 * The text as a string of markers; equal texts mostly give the same one. NULL for NULL, and when
 * there is no memory.
 */
kymo_string_t *annotation_string(const char *text);
kymo_string_t *annotation_wide_string(const wchar_t *text);

/* UTF-8 of a wide text, as much as fits, terminated. Returns `out`, or NULL for NULL. */
const char *annotation_utf8(char *out, size_t size, const wchar_t *text);

/* Categories by number. All zero is empty. */
#define CATEGORY_BUCKETS 64u
struct annotation_category;
struct annotation_categories {
	struct annotation_category *_Atomic buckets[CATEGORY_BUCKETS];
	_Atomic uint32_t count;
};

/* Names a category from now on. */
void annotation_category_name(struct annotation_categories *c, uint32_t number, const char *name);

/*
 * Its name, or the number as text when it was not named. NULL for 0, and beyond the first 65,536
 * different ones.
 */
kymo_string_t *annotation_category(struct annotation_categories *c, uint32_t number);

#endif
