/* SPDX-License-Identifier: Apache-2.0 */
/* See fonts.h. */
#include "page/fonts.h"

#include "base/library.h"

#define FONT_FUNCTIONS(X)                                                                          \
	X(FcCharSetHasChar)                                                                        \
	X(FcConfigSubstitute)                                                                      \
	X(FcDefaultSubstitute)                                                                     \
	X(FcFontRenderPrepare)                                                                     \
	X(FcFontSort)                                                                              \
	X(FcPatternAddInteger)                                                                     \
	X(FcPatternAddString)                                                                      \
	X(FcPatternCreate)                                                                         \
	X(FcPatternDestroy)                                                                        \
	X(FcPatternGetCharSet)

static struct fontconfig {
	FONT_FUNCTIONS(LIBRARY_POINTER)
} f;

static struct face {
	FcPattern *wanted;
	FcFontSet *fonts; /* those that look most like it first; they stay */
} faces[DRAW_MONO + 1];

bool fonts_load(const char **why)
{
#define ROW(name) LIBRARY_FUNCTION(struct fontconfig, name, #name),
	static const struct library_function rows[] = {FONT_FUNCTIONS(ROW)};
#undef ROW
	static const char *const names[] = {KYMO_FONTCONFIG_LIBRARY, NULL};
	static char library_why[LIBRARY_WHY];
	static bool loaded;

	*why = library_why;
	loaded = loaded || library_find(names, "libfontconfig1", rows,
					sizeof(rows) / sizeof(rows[0]), &f, library_why);
	return loaded;
}

static void find_fonts(struct face *x, enum draw_face face)
{
	const char *family = face == DRAW_MONO ? "DejaVu Sans Mono" : "DejaVu Sans";
	const char *kind = face == DRAW_MONO ? "monospace" : "sans-serif";
	FcResult result;

	x->wanted = f.FcPatternCreate();
	if (!x->wanted)
		return;
	f.FcPatternAddString(x->wanted, FC_FAMILY, (const FcChar8 *)family);
	f.FcPatternAddString(x->wanted, FC_FAMILY, (const FcChar8 *)kind);
	f.FcPatternAddInteger(x->wanted, FC_WEIGHT,
			      face == DRAW_BOLD ? FC_WEIGHT_BOLD : FC_WEIGHT_NORMAL);
	f.FcConfigSubstitute(NULL, x->wanted, FcMatchPattern);
	f.FcDefaultSubstitute(x->wanted);
	x->fonts = f.FcFontSort(NULL, x->wanted, FcTrue, NULL, &result);
}

FcPattern *fonts_with(enum draw_face face, uint32_t code, unsigned *font)
{
	struct face *x = &faces[face];

	if (!x->wanted)
		find_fonts(x, face);
	for (int i = 0; x->fonts && i < x->fonts->nfont; i++) {
		FcCharSet *has;

		if (f.FcPatternGetCharSet(x->fonts->fonts[i], FC_CHARSET, 0, &has) ==
			    FcResultMatch &&
		    f.FcCharSetHasChar(has, code)) {
			*font = (unsigned)i;
			return x->fonts->fonts[i];
		}
	}
	return NULL;
}

FcPattern *fonts_prepared(enum draw_face face, FcPattern *font)
{
	return f.FcFontRenderPrepare(NULL, faces[face].wanted, font);
}

void fonts_destroy(FcPattern *prepared)
{
	f.FcPatternDestroy(prepared);
}
