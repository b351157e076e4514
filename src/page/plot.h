/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plots of a run as pictures: those of the page, with its titles and colours, from the same timeline. Each is drawn in
 * units of PLOT_WIDTH by PLOT_HEIGHT.
 */
#ifndef PAGE_PLOT_H
#define PAGE_PLOT_H

#include "page/draw.h"
#include "page/page.h"

enum { PLOT_WIDTH = 1600, PLOT_HEIGHT = 900, PLOT_SERIES = 12 };

struct plot {
	const char *name, *title, *about;
	/* True: the trace has what it shows. */
	bool (*has)(const struct page *p);
	/* False: no memory. `picture`: which of them. */
	bool (*draw)(const struct page *p, struct draw *d, unsigned picture);
	unsigned (*pictures)(const struct page *p); /* how many it takes; NULL: one */
};

/* In the order of the page. */
extern const struct plot *const plots[];
extern const unsigned plots_count;

/* NULL: there is no such plot. */
const struct plot *plot_named(const char *name);

/* It is of what page_read() reads of flames. */
bool plot_is_flame(const struct plot *plot);

/* The trace has what the plot shows. */
bool plot_has(const struct plot *plot, const struct page *p);

/* Pictures that it takes, each of PLOT_WIDTH by PLOT_HEIGHT; one of them, with its title. False: no memory. */
unsigned plot_pictures(const struct plot *plot, const struct page *p);
bool plot_draw(const struct plot *plot, const struct page *p, struct draw *d, unsigned picture);

/* ---- what plots share ---------------------------------------------------------------------------- */

extern const uint32_t plot_series[PLOT_SERIES];
uint32_t plot_cividis(double share);

struct plot_box {
	double left, top, right, bottom;
};

enum plot_unit { PLOT_NS, PLOT_BYTES, PLOT_RATE, PLOT_COUNT, PLOT_PERCENT };

/* A round step, of which `most` has about `many`: 1, 2 or 5 times a power of ten; of bytes a power of two. */
double plot_step(double most, unsigned many, enum plot_unit unit);
/* Dashes of the nth line. */
double plot_dash(unsigned series);

/* Of 0 to `most`; with what it is of. */
void plot_axis_x(struct draw *d, const struct plot_box *b, double most, enum plot_unit unit,
		 const char *title);
void plot_axis_y(struct draw *d, const struct plot_box *b, double most, enum plot_unit unit,
		 const char *title);
/* Of time, over all that was read. */
void plot_axis_time(struct draw *d, const struct plot_box *b, const struct page *p);

/* Rows of colours and names below `y`, from `left`, `width` wide. */
struct plot_legend {
	uint32_t colour;
	unsigned texture; /* DRAW_SMOOTH and so on */
	const char *text;
	bool line;   /* not an area, */
	double dash; /* with dashes so long */
};
void plot_legend(struct draw *d, double left, double y, double width,
		 const struct plot_legend *items, unsigned count);

/* From the colour of 0 to that of `most`, at the right end of the box. */
void plot_scale(struct draw *d, const struct plot_box *b, const char *least, const char *most);

/* Right of `right`, about y, in lines that `high` has room for. */
void plot_label(struct draw *d, double right, double y, double high, const char *s);

/* Under the title: what is left out. */
void plot_note(struct draw *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
