/* SPDX-License-Identifier: Apache-2.0 */
/* What draws by cairo, which is loaded when a picture is asked for: launchers, which are the same program, have no use for it. */
#ifndef PAGE_DRAW_CAIRO_H
#define PAGE_DRAW_CAIRO_H

#include "page/draw.h"

struct canvas;

struct canvas *canvas_begin(enum draw_form form, double width, double height, FILE *out,
			    const char *title, const char **why);
bool canvas_end(struct canvas *c);
void canvas_next_page(struct canvas *c);
void canvas_rect(struct canvas *c, double x, double y, double w, double h, uint32_t colour);
void canvas_line(struct canvas *c, const double *xy, size_t count, uint32_t colour, double width,
		 double dash);
/* Over what is there; `scale`: of the tile. */
void canvas_texture(struct canvas *c, double x, double y, double w, double h,
		    const struct draw_texture *t, uint32_t colour, double scale);
/* What follows, around (x, y). */
void canvas_turn(struct canvas *c, double x, double y, double degrees);
void canvas_turn_back(struct canvas *c);
/* `s` is UTF-8. */
void canvas_text(struct canvas *c, double x, double y, double size, enum draw_face face,
		 enum draw_align align, uint32_t colour, const char *s);

#endif
