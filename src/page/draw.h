/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of rectangles, lines and text: SVG written here, PDF, PNG and JPEG by cairo. All text passes through
 * plain_add(), so that names can neither break the form nor turn the direction of writing.
 *	struct draw *d = draw_begin(DRAW_PNG, 1600, 900, out, "title", &why);
 *	draw_rect(d, ...); draw_text(d, ...);
 *	if (!draw_end(d)) ...
 */
#ifndef PAGE_DRAW_H
#define PAGE_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum draw_form { DRAW_SVG, DRAW_PDF, DRAW_PNG, DRAW_JPEG };
enum draw_align { DRAW_LEFT, DRAW_MIDDLE, DRAW_RIGHT };
enum draw_face { DRAW_PLAIN, DRAW_BOLD, DRAW_MONO };

/* 0xRRGGBB */
enum {
	DRAW_WHITE = 0xffffff,
	DRAW_TEXT = 0x1c1f23,
	DRAW_MUTED = 0x5b6269,
	DRAW_RULE = 0xd9d9d4,
	DRAW_EMPTY = 0xf0f0ed
};

struct draw;

/* Lines x, y, x, y of a tile. */
enum { DRAW_TILE = 12 };
struct draw_texture {
	unsigned count;
	double line[3][4];
};

/* NULL: *why says what is missing; it stays valid. */
struct draw *draw_begin(enum draw_form form, double width, double height, FILE *out,
			const char *title, const char **why);
/* Frees it. False: `out` could not be written to (errno), or memory ran out. */
bool draw_end(struct draw *d);
/* PDF: what follows is on the next page. */
void draw_next_page(struct draw *d);
/* What follows is this much smaller, and (x, y) is where its corner lies. */
void draw_place(struct draw *d, double x, double y, double scale);

/* `told` (may be NULL) is what SVG says where it is pointed at. A rectangle that is not empty has a pixel at least. */
void draw_rect(struct draw *d, double x, double y, double w, double h, uint32_t colour,
	       const char *told);
/*
 * The same with a texture of lines over it, so that areas differ without their colours; it lies still under neighbouring
 * areas. Modulo DRAW_TEXTURES.
 */
enum {
	DRAW_SMOOTH,
	DRAW_RISING,
	DRAW_FALLING,
	DRAW_CROSSED,
	DRAW_DOTTED,
	DRAW_LYING,
	DRAW_STANDING,
	DRAW_DENSE,
	DRAW_TEXTURES
};
extern const struct draw_texture draw_textures[DRAW_TEXTURES];
void draw_area(struct draw *d, double x, double y, double w, double h, uint32_t colour,
	       unsigned texture, const char *told);
/* Through `count` points x, y, x, y, ...; dash: length of dashes, 0: none. */
void draw_line(struct draw *d, const double *xy, size_t count, uint32_t colour, double width,
	       double dash, const char *told);
/* y: of the line that letters stand on. */
void draw_text(struct draw *d, double x, double y, double size, enum draw_face face,
	       enum draw_align align, uint32_t colour, const char *s);
/* The same, cut to `most` wide. */
void draw_text_fitted(struct draw *d, double x, double y, double size, double most,
		      enum draw_align align, uint32_t colour, const char *s);

/* What follows is turned clockwise around (x, y), until draw_turn_back(). */
void draw_turn(struct draw *d, double x, double y, double degrees);
void draw_turn_back(struct draw *d);

/* Characters drawn since it was last asked that no font has, with the first ones as "U+4E2D, U+6587, ..."; 0: none. */
enum { DRAW_EXAMPLES = 64 };
uint64_t draw_unknown(char examples[DRAW_EXAMPLES]);
void draw_note_unknown(uint32_t code);

/* Of a letter of DRAW_MONO, of its size: that of DejaVu Sans Mono. */
#define DRAW_CELL 0.602

/* About how wide it is. */
double draw_width(const char *s, double size);

#endif
