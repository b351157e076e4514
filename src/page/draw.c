/* SPDX-License-Identifier: Apache-2.0 */
/* See draw.h. */
#include "page/draw.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "page/draw_cairo.h"

struct draw {
	FILE *out;             /* SVG is written to it */
	struct canvas *canvas; /* NULL: SVG */
	double x, y, scale;
	bool failed; /* memory ran out */
};

static const char *const aligns[] = {"start", "middle", "end"};
static const char *const faces[] = {"", " font-weight=\"bold\"", " font-family=\"monospace\""};

static void svg_text(struct draw *d, const char *before, const char *s, const char *after)
{
	struct text escaped = {0};

	plain_add_html(&escaped, s, strlen(s));
	fprintf(d->out, "%s%s%s", before, escaped.s ? escaped.s : "", after);
	d->failed |= escaped.failed;
	text_release(&escaped);
}

/* What ends an element, with what is told of it. */
static void svg_end(struct draw *d, const char *element, const char *told)
{
	if (!told) {
		fputs("/>\n", d->out);
		return;
	}
	svg_text(d, "><title>", told, "</title>");
	fprintf(d->out, "</%s>\n", element);
}

const struct draw_texture draw_textures[DRAW_TEXTURES] = {
	[DRAW_RISING] = {1, {{0, 12, 12, 0}}},
	[DRAW_FALLING] = {1, {{0, 0, 12, 12}}},
	[DRAW_CROSSED] = {2, {{0, 12, 12, 0}, {0, 0, 12, 12}}},
	[DRAW_DOTTED] = {2, {{4, 5, 8, 5}, {4, 7, 8, 7}}},
	[DRAW_LYING] = {1, {{0, 6, 12, 6}}},
	[DRAW_STANDING] = {1, {{6, 0, 6, 12}}},
	[DRAW_DENSE] = {3, {{0, 6, 6, 0}, {0, 12, 12, 0}, {6, 12, 12, 6}}},
};

/* Both inks of each. */
static void svg_textures(FILE *out)
{
	fputs("<defs>\n", out);
	for (unsigned i = 2 * DRAW_RISING; i < 2 * DRAW_TEXTURES; i++) {
		const struct draw_texture *t = &draw_textures[i / 2];

		fprintf(out,
			"<pattern id=\"%c%u\" width=\"%d\" height=\"%d\" "
			"patternUnits=\"userSpaceOnUse\"><path d=\"",
			i % 2 ? 'w' : 'k', i / 2, DRAW_TILE, DRAW_TILE);
		for (unsigned k = 0; k < t->count; k++)
			fprintf(out, "M%g %gL%g %g", t->line[k][0], t->line[k][1], t->line[k][2],
				t->line[k][3]);
		fprintf(out, "\" stroke=\"#%06x\" stroke-width=\"1.4\"/></pattern>\n",
			i % 2 ? DRAW_WHITE : DRAW_TEXT);
	}
	fputs("</defs>\n", out);
}

struct draw *draw_begin(enum draw_form form, double width, double height, FILE *out,
			const char *title, const char **why)
{
	struct draw *d = calloc(1, sizeof(*d));

	*why = "not enough memory";
	if (!d)
		return NULL;
	*d = (struct draw){.out = out, .scale = 1};
	if (form != DRAW_SVG) {
#ifdef KYMO_HAVE_CAIRO
		d->canvas = canvas_begin(form, width, height, out, title, why);
#else
		*why = "this kymo was built without cairo, which draws PDF, PNG and JPEG; SVG "
		       "needs no library";
#endif
		if (!d->canvas) {
			free(d);
			return NULL;
		}
		return d;
	}
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		"xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
		"%.0f %.0f\" role=\"img\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n",
		width, height, width, height);
	svg_text(d, "<title>", title, "</title>\n");
	svg_textures(out);
	return d;
}

bool draw_end(struct draw *d)
{
	bool ok = !d->failed;

	if (!ok)
		errno = ENOMEM;
#ifdef KYMO_HAVE_CAIRO
	if (d->canvas)
		ok = canvas_end(d->canvas) && ok;
#endif
	if (!d->canvas)
		fputs("</svg>\n", d->out);
	ok = ok && fflush(d->out) == 0 && !ferror(d->out);
	free(d);
	return ok;
}

void draw_next_page(struct draw *d)
{
#ifdef KYMO_HAVE_CAIRO
	if (d->canvas)
		canvas_next_page(d->canvas);
#endif
}

void draw_place(struct draw *d, double x, double y, double scale)
{
	d->x = x;
	d->y = y;
	d->scale = scale;
}

void draw_turn(struct draw *d, double x, double y, double degrees)
{
	x = d->x + x * d->scale;
	y = d->y + y * d->scale;
#ifdef KYMO_HAVE_CAIRO
	if (d->canvas)
		canvas_turn(d->canvas, x, y, degrees);
#endif
	if (!d->canvas)
		fprintf(d->out, "<g transform=\"rotate(%.3f %.3f %.3f)\">\n", degrees, x, y);
}

void draw_turn_back(struct draw *d)
{
#ifdef KYMO_HAVE_CAIRO
	if (d->canvas)
		canvas_turn_back(d->canvas);
#endif
	if (!d->canvas)
		fputs("</g>\n", d->out);
}

void draw_rect(struct draw *d, double x, double y, double w, double h, uint32_t colour,
	       const char *told)
{
	x = d->x + x * d->scale;
	y = d->y + y * d->scale;
	w *= d->scale;
	h *= d->scale;
	if (!(w > 0 && h > 0))
		return;
#ifdef KYMO_HAVE_CAIRO
	if (d->canvas) {
		canvas_rect(d->canvas, x, y, w, h, colour);
		return;
	}
#endif
	fprintf(d->out,
		"<rect x=\"%.4f\" y=\"%.4f\" width=\"%.4f\" height=\"%.4f\" fill=\"#%06x\" "
		"shape-rendering=\"crispEdges\"",
		x, y, w, h, colour);
	svg_end(d, "rect", told);
}

void draw_line(struct draw *d, const double *xy, size_t count, uint32_t colour, double width,
	       double dash, const char *told)
{
	double *at = calloc(2 * count + 1, sizeof(*at));

	for (size_t i = 0; at && i < count; i++) {
		at[2 * i] = d->x + xy[2 * i] * d->scale;
		at[2 * i + 1] = d->y + xy[2 * i + 1] * d->scale;
	}
	d->failed |= !at;
	width *= d->scale;
	dash *= d->scale;
#ifdef KYMO_HAVE_CAIRO
	if (at && d->canvas)
		canvas_line(d->canvas, at, count, colour, width, dash);
#endif
	if (at && !d->canvas) {
		fputs("<polyline points=\"", d->out);
		for (size_t i = 0; i < count; i++)
			fprintf(d->out, "%s%.3f,%.3f", i ? " " : "", at[2 * i], at[2 * i + 1]);
		fprintf(d->out, "\" fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.3f\"", colour,
			width);
		if (dash > 0)
			fprintf(d->out, " stroke-dasharray=\"%.3f\"", dash);
		svg_end(d, "polyline", told);
	}
	free(at);
}

/* Dark lines are seen on light colours, light ones on dark colours. */
static uint32_t ink_on(uint32_t colour)
{
	unsigned light = 30 * (colour >> 16 & 255) + 59 * (colour >> 8 & 255) + 11 * (colour & 255);

	return light > 14000 ? DRAW_TEXT : DRAW_WHITE;
}

void draw_area(struct draw *d, double x, double y, double w, double h, uint32_t colour,
	       unsigned texture, const char *told)
{
	texture %= DRAW_TEXTURES;
	draw_rect(d, x, y, w, h, colour, told);
	if (texture == DRAW_SMOOTH || !(w > 0 && h > 0))
		return;
	x = d->x + x * d->scale;
	y = d->y + y * d->scale;
	w *= d->scale;
	h *= d->scale;
#ifdef KYMO_HAVE_CAIRO
	if (d->canvas) {
		canvas_texture(d->canvas, x, y, w, h, &draw_textures[texture], ink_on(colour),
			       d->scale);
		return;
	}
#endif
	fprintf(d->out,
		"<rect x=\"%.4f\" y=\"%.4f\" width=\"%.4f\" height=\"%.4f\" "
		"fill=\"url(#%c%u)\" pointer-events=\"none\"/>\n",
		x, y, w, h, ink_on(colour) == DRAW_WHITE ? 'w' : 'k', texture);
}

void draw_text(struct draw *d, double x, double y, double size, enum draw_face face,
	       enum draw_align align, uint32_t colour, const char *s)
{
	x = d->x + x * d->scale;
	y = d->y + y * d->scale;
	size *= d->scale;
#ifdef KYMO_HAVE_CAIRO
	if (d->canvas) {
		struct text shown = {0};

		plain_add(&shown, s, strlen(s));
		d->failed |= shown.failed;
		if (shown.length && !shown.failed)
			canvas_text(d->canvas, x, y, size, face, align, colour, shown.s);
		text_release(&shown);
		return;
	}
#endif
	fprintf(d->out,
		"<text x=\"%.3f\" y=\"%.3f\" font-size=\"%.2f\" text-anchor=\"%s\" "
		"fill=\"#%06x\"%s>",
		x, y, size, aligns[align], colour, faces[face]);
	svg_text(d, "", s, "</text>\n");
}

void draw_text_fitted(struct draw *d, double x, double y, double size, double most,
		      enum draw_align align, uint32_t colour, const char *s)
{
	unsigned columns = most > 3 * size ? (unsigned)(most / (0.6 * size)) : 4;
	struct text cut = {0};

	if (plain_width(s) > columns) {
		plain_add_cut(&cut, s, columns - 1);
		text_add(&cut, "\xe2\x80\xa6");
		s = cut.s && !cut.failed ? cut.s : "";
	}
	d->failed |= cut.failed;
	draw_text(d, x, y, size, DRAW_PLAIN, align, colour, s);
	text_release(&cut);
}

double draw_width(const char *s, double size)
{
	return 0.6 * size * plain_width(s);
}

/* ---- letters that no font has ------------------------------------------------------------------ */

static struct {
	uint64_t count;
	uint32_t first[6];
	unsigned kept;
} unknown;

void draw_note_unknown(uint32_t code)
{
	enum { KEPT = sizeof(unknown.first) / sizeof(*unknown.first) };

	unknown.count++;
	for (unsigned i = 0; i < unknown.kept; i++)
		if (unknown.first[i] == code)
			return;
	if (unknown.kept < KEPT)
		unknown.first[unknown.kept] = code;
	unknown.kept += unknown.kept < KEPT;
}

uint64_t draw_unknown(char examples[DRAW_EXAMPLES])
{
	const uint64_t count = unknown.count;
	size_t n = 0;

	examples[0] = 0;
	for (unsigned i = 0; i < unknown.kept && n < DRAW_EXAMPLES; i++)
		n += (size_t)snprintf(examples + n, DRAW_EXAMPLES - n, "%sU+%04X", i ? ", " : "",
				      unknown.first[i]);
	memset(&unknown, 0, sizeof(unknown));
	return count;
}
