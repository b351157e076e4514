/* SPDX-License-Identifier: Apache-2.0 */
/* Which font has a character: the first of those that fontconfig offers for a face. Fonts are for cairo. */
#ifndef PAGE_FONTS_H
#define PAGE_FONTS_H

#include <fontconfig/fontconfig.h>

#include "page/draw.h"

/* False: *why says what is missing. */
bool fonts_load(const char **why);

/* The pattern to make a font of, index *font of those of the face; NULL: no font has the character. */
FcPattern *fonts_with(enum draw_face face, uint32_t code, unsigned *font);

/* What cairo makes its font from; to be destroyed. */
FcPattern *fonts_prepared(enum draw_face face, FcPattern *font);
void fonts_destroy(FcPattern *prepared);

#endif
