/* SPDX-License-Identifier: Apache-2.0 */
/* See draw_cairo.h. */
#include "page/draw_cairo.h"

#include <cairo-ft.h>
#include <cairo-pdf.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef KYMO_TURBOJPEG_LIBRARY
#include <turbojpeg.h>
#endif

#include "base/library.h"
#include "base/plain.h"
#include "base/vec.h"
#include "page/fonts.h"

#define CAIRO_FUNCTIONS(X)                                                                         \
	X(cairo_clip)                                                                              \
	X(cairo_create)                                                                            \
	X(cairo_destroy)                                                                           \
	X(cairo_fill)                                                                              \
	X(cairo_font_face_destroy)                                                                 \
	X(cairo_ft_font_face_create_for_pattern)                                                   \
	X(cairo_image_surface_create)                                                              \
	X(cairo_image_surface_get_data)                                                            \
	X(cairo_image_surface_get_height)                                                          \
	X(cairo_image_surface_get_stride)                                                          \
	X(cairo_image_surface_get_width)                                                           \
	X(cairo_line_to)                                                                           \
	X(cairo_move_to)                                                                           \
	X(cairo_paint)                                                                             \
	X(cairo_pdf_surface_create_for_stream)                                                     \
	X(cairo_pdf_surface_set_metadata)                                                          \
	X(cairo_rectangle)                                                                         \
	X(cairo_restore)                                                                           \
	X(cairo_rotate)                                                                            \
	X(cairo_save)                                                                              \
	X(cairo_set_font_face)                                                                     \
	X(cairo_set_dash)                                                                          \
	X(cairo_set_font_size)                                                                     \
	X(cairo_set_line_join)                                                                     \
	X(cairo_set_line_width)                                                                    \
	X(cairo_set_source_rgb)                                                                    \
	X(cairo_show_page)                                                                         \
	X(cairo_show_text)                                                                         \
	X(cairo_status)                                                                            \
	X(cairo_stroke)                                                                            \
	X(cairo_surface_destroy)                                                                   \
	X(cairo_surface_finish)                                                                    \
	X(cairo_surface_flush)                                                                     \
	X(cairo_surface_status)                                                                    \
	X(cairo_surface_write_to_png_stream)                                                       \
	X(cairo_translate)                                                                         \
	X(cairo_text_extents)

struct cairo {
	CAIRO_FUNCTIONS(LIBRARY_POINTER)
};

struct canvas {
	enum draw_form form;
	FILE *out;
	int failed; /* errno of the write that failed, which cairo does not keep */
	cairo_surface_t *surface;
	cairo_t *cr;
	struct made {
		cairo_font_face_t **at; /* by number of the font, NULL: not made yet */
		uint32_t count, room;
	} made[DRAW_MONO + 1];
};

static struct cairo x;

static char library_why[LIBRARY_WHY];

static bool load(const char **why)
{
#define ROW(name) LIBRARY_FUNCTION(struct cairo, name, #name),
	static const struct library_function rows[] = {CAIRO_FUNCTIONS(ROW)};
#undef ROW
	static const char *const names[] = {KYMO_CAIRO_LIBRARY, NULL};
	static bool loaded;

	*why = library_why;
	loaded = loaded || library_find(names, "libcairo2", rows, sizeof(rows) / sizeof(rows[0]),
					&x, library_why);
	return loaded;
}

static cairo_status_t write_bytes(void *to, const unsigned char *data, unsigned n)
{
	struct canvas *c = to;

	if (fwrite(data, 1, n, c->out) == n)
		return CAIRO_STATUS_SUCCESS;
	c->failed = errno;
	return CAIRO_STATUS_WRITE_ERROR;
}

static void set_colour(struct canvas *c, uint32_t colour)
{
	x.cairo_set_source_rgb(c->cr, (colour >> 16) / 255.0, (colour >> 8 & 255) / 255.0,
			       (colour & 255) / 255.0);
}

static bool open_surface(struct canvas *c, double width, double height, const char *title)
{
	if (c->form == DRAW_PDF)
		c->surface = x.cairo_pdf_surface_create_for_stream(write_bytes, c, width, height);
	else
		c->surface =
			x.cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
	if (c->form == DRAW_PDF)
		x.cairo_pdf_surface_set_metadata(c->surface, CAIRO_PDF_METADATA_TITLE, title);
	c->cr = x.cairo_create(c->surface);
	set_colour(c, DRAW_WHITE);
	if (c->form != DRAW_PDF)
		x.cairo_paint(c->cr);
	return x.cairo_status(c->cr) == CAIRO_STATUS_SUCCESS;
}

#ifdef KYMO_TURBOJPEG_LIBRARY
#define JPEG_FUNCTIONS(X)                                                                          \
	X(tjCompress2)                                                                             \
	X(tjDestroy)                                                                               \
	X(tjFree)                                                                                  \
	X(tjInitCompress)

static struct jpeg {
	JPEG_FUNCTIONS(LIBRARY_POINTER)
} jpeg;

static bool load_jpeg(const char **why)
{
#define ROW(name) LIBRARY_FUNCTION(struct jpeg, name, #name),
	static const struct library_function rows[] = {JPEG_FUNCTIONS(ROW)};
#undef ROW
	static const char *const names[] = {KYMO_TURBOJPEG_LIBRARY, NULL};
	static bool loaded;

	*why = library_why;
	loaded = loaded || library_find(names, "libturbojpeg0", rows,
					sizeof(rows) / sizeof(rows[0]), &jpeg, library_why);
	return loaded;
}

static bool write_jpeg(struct canvas *c)
{
	enum { QUALITY = 92 };
	const int pixels = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? TJPF_BGRX : TJPF_XRGB;
	tjhandle h = jpeg.tjInitCompress();
	unsigned char *packed = NULL;
	unsigned long n = 0;
	bool ok = h && jpeg.tjCompress2(h, x.cairo_image_surface_get_data(c->surface),
					x.cairo_image_surface_get_width(c->surface),
					x.cairo_image_surface_get_stride(c->surface),
					x.cairo_image_surface_get_height(c->surface), pixels,
					&packed, &n, TJSAMP_444, QUALITY, 0) == 0;

	if (!ok)
		errno = ENOMEM;
	ok = ok && fwrite(packed, 1, n, c->out) == n;
	if (packed)
		jpeg.tjFree(packed);
	if (h)
		jpeg.tjDestroy(h);
	return ok;
}
#else
static bool load_jpeg(const char **why)
{
	*why = "this kymo was built without libjpeg-turbo, which JPEG needs; PNG is there";
	return false;
}

static bool write_jpeg(struct canvas *c)
{
	(void)c;
	return false;
}
#endif

struct canvas *canvas_begin(enum draw_form form, double width, double height, FILE *out,
			    const char *title, const char **why)
{
	struct canvas *c;

	if (!load(why) || !fonts_load(why) || (form == DRAW_JPEG && !load_jpeg(why)))
		return NULL;
	*why = "not enough memory";
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct canvas){.form = form, .out = out};
	if (open_surface(c, width, height, title))
		return c;
	x.cairo_destroy(c->cr);
	x.cairo_surface_destroy(c->surface);
	free(c);
	return NULL;
}

bool canvas_end(struct canvas *c)
{
	bool ok = x.cairo_status(c->cr) == CAIRO_STATUS_SUCCESS;
	int failed;

	errno = ok ? 0 : ENOMEM;
	x.cairo_destroy(c->cr);
	x.cairo_surface_flush(c->surface);
	if (ok && c->form == DRAW_PNG)
		ok = x.cairo_surface_write_to_png_stream(c->surface, write_bytes, c) ==
		     CAIRO_STATUS_SUCCESS;
	else if (ok && c->form == DRAW_JPEG)
		ok = write_jpeg(c);
	x.cairo_surface_finish(c->surface);
	ok = x.cairo_surface_status(c->surface) == CAIRO_STATUS_SUCCESS && ok;
	failed = c->failed ? c->failed : errno;
	for (unsigned i = 0; i <= DRAW_MONO; i++) {
		for (uint32_t k = 0; k < c->made[i].count; k++)
			if (c->made[i].at[k])
				x.cairo_font_face_destroy(c->made[i].at[k]);
		free(c->made[i].at);
	}
	x.cairo_surface_destroy(c->surface);
	free(c);
	errno = failed;
	return ok;
}

void canvas_next_page(struct canvas *c)
{
	x.cairo_show_page(c->cr);
}

/* Pixels are whole, and no rectangle is without one. */
static void snap(double *from, double *length)
{
	double to = floor(*from + *length + 0.5);

	*from = floor(*from + 0.5);
	*length = to > *from ? to - *from : 1;
}

void canvas_rect(struct canvas *c, double left, double top, double w, double h, uint32_t colour)
{
	if (c->form != DRAW_PDF) {
		snap(&left, &w);
		snap(&top, &h);
	}
	set_colour(c, colour);
	x.cairo_rectangle(c->cr, left, top, w, h);
	x.cairo_fill(c->cr);
}

void canvas_line(struct canvas *c, const double *xy, size_t count, uint32_t colour, double width,
		 double dash)
{
	set_colour(c, colour);
	x.cairo_set_line_width(c->cr, width);
	x.cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_BEVEL);
	x.cairo_set_dash(c->cr, &dash, dash > 0, 0);
	for (size_t i = 0; i < count; i++)
		(i ? x.cairo_line_to : x.cairo_move_to)(c->cr, xy[2 * i], xy[2 * i + 1]);
	x.cairo_stroke(c->cr);
}

void canvas_turn(struct canvas *c, double left, double y, double degrees)
{
	x.cairo_save(c->cr);
	x.cairo_translate(c->cr, left, y);
	x.cairo_rotate(c->cr, degrees * M_PI / 180);
	x.cairo_translate(c->cr, -left, -y);
}

void canvas_turn_back(struct canvas *c)
{
	x.cairo_restore(c->cr);
}

void canvas_texture(struct canvas *c, double left, double top, double w, double h,
		    const struct draw_texture *t, uint32_t colour, double scale)
{
	const double tile = DRAW_TILE * scale, none = 0;

	x.cairo_save(c->cr);
	x.cairo_rectangle(c->cr, left, top, w, h);
	x.cairo_clip(c->cr);
	set_colour(c, colour);
	x.cairo_set_line_width(c->cr, 1.4 * scale);
	x.cairo_set_dash(c->cr, &none, 0, 0);
	for (double a = floor(left / tile) * tile; a < left + w; a += tile) {
		for (double b = floor(top / tile) * tile; b < top + h; b += tile) {
			for (unsigned i = 0; i < t->count; i++) {
				x.cairo_move_to(c->cr, a + t->line[i][0] * scale,
						b + t->line[i][1] * scale);
				x.cairo_line_to(c->cr, a + t->line[i][2] * scale,
						b + t->line[i][3] * scale);
			}
		}
	}
	x.cairo_stroke(c->cr);
	x.cairo_restore(c->cr);
}

/* ---- text -------------------------------------------------------------------------------------- */

enum { WHITE_DIAMOND = 0xfffd }; /* stands for what no font has */

/* A piece of text that one font has, and which. */
struct run {
	const char *s;
	size_t bytes;
	FcPattern *font;
	unsigned number;
	unsigned columns; /* that it takes in a table */
};

static cairo_font_face_t *made_font(struct canvas *c, enum draw_face face, const struct run *r)
{
	struct made *m = &c->made[face];
	FcPattern *prepared;

	while (m->count <= r->number) {
		if (!vec_reserve(&m->at, &m->room, m->count, 1))
			return NULL;
		m->at[m->count++] = NULL;
	}
	prepared = m->at[r->number] ? NULL : fonts_prepared(face, r->font);
	if (prepared) {
		m->at[r->number] = x.cairo_ft_font_face_create_for_pattern(prepared);
		fonts_destroy(prepared);
	}
	return m->at[r->number];
}

/* What is drawn instead of letters that no font has: as many columns. */
static void put_unknown(struct text *out, uint32_t code)
{
	draw_note_unknown(code);
	text_add(out, plain_columns(code) > 1 ? "\xef\xbf\xbd " : "\xef\xbf\xbd");
}

static void replace_unknown(struct text *out, enum draw_face face, const char *s)
{
	size_t length = strlen(s), n;
	uint32_t code;
	unsigned font;

	for (size_t i = 0; i < length; i += n) {
		n = plain_next(s + i, length - i, &code);
		if (fonts_with(face, code, &font))
			text_add_bytes(out, s + i, n);
		else if (code == WHITE_DIAMOND)
			text_add(out, "?");
		else
			put_unknown(out, code);
	}
}

/* The run that begins here: letters that the font of the first one has stay with it. */
static struct run next_run(enum draw_face face, const char *s)
{
	size_t length = strlen(s), n;
	struct run r = {.s = s};
	uint32_t code;
	unsigned font;

	for (; r.bytes < length; r.bytes += n) {
		FcPattern *has;

		n = plain_next(s + r.bytes, length - r.bytes, &code);
		has = fonts_with(face, code, &font);
		if (r.bytes && has && has != r.font)
			break;
		if (!r.bytes) {
			r.font = has;
			r.number = font;
		}
		r.columns += plain_columns(code);
	}
	return r;
}

/* Returns how far it moves on. */
static double draw_run(struct canvas *c, enum draw_face face, const struct run *r, double left,
		       double y, double size, bool draws)
{
	cairo_font_face_t *font = r->font ? made_font(c, face, r) : NULL;
	char *copy = font ? strndup(r->s, r->bytes) : NULL;
	cairo_text_extents_t e = {0};

	if (!copy)
		return 0;
	x.cairo_set_font_face(c->cr, font);
	x.cairo_set_font_size(c->cr, size);
	x.cairo_text_extents(c->cr, copy, &e);
	x.cairo_move_to(c->cr, left, y);
	if (draws)
		x.cairo_show_text(c->cr, copy);
	free(copy);
	return face == DRAW_MONO ? r->columns * DRAW_CELL * size : e.x_advance;
}

static double draw_runs(struct canvas *c, enum draw_face face, const char *s, double left, double y,
			double size, bool draws)
{
	double at = left;

	while (*s) {
		const struct run r = next_run(face, s);

		at += draw_run(c, face, &r, at, y, size, draws);
		s += r.bytes;
	}
	return at - left;
}

void canvas_text(struct canvas *c, double left, double y, double size, enum draw_face face,
		 enum draw_align align, uint32_t colour, const char *s)
{
	struct text known = {0};

	set_colour(c, colour);
	replace_unknown(&known, face, s);
	if (known.length && !known.failed) {
		double wide =
			align == DRAW_LEFT ? 0 : draw_runs(c, face, known.s, 0, y, size, false);

		draw_runs(c, face, known.s, left - (align == DRAW_MIDDLE ? wide / 2 : wide), y,
			  size, true);
	}
	text_release(&known);
}
