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

void draw_hatch(struct draw *d, double x, double y, double w, double h, uint32_t colour)
{
	for (double k = x - h + 5; k < x + w; k += 10) {
		double from = fmax(k, x), to = fmin(k + h, x + w);
		double xy[] = {from, y + h - (from - k), to, y + h - (to - k)};

		if (to > from)
			draw_line(d, xy, 2, colour, 1.2, 0, NULL);
	}
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
