/* SPDX-License-Identifier: Apache-2.0 */
/* See calibrate_plot.h. */
#include "cli/calibrate_plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/report_form.h"
#include "cli/staging.h"
#include "report/report.h"
#include "roofs/roofline.h"
#ifdef KYMO_HAVE_PAGE
#include "page/plot.h"
#include "page/plot_roofline.h"
#endif

enum { COLUMNS_PLAIN = 100 /* where there is no terminal */ };

static bool as_text(const char *output)
{
	return strcmp(output, "-") == 0;
}

static unsigned columns(void)
{
	const char *said = getenv("COLUMNS");
	struct winsize w;

	if (said && atoi(said) > 0)
		return (unsigned)atoi(said);
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col)
		return w.ws_col;
	return COLUMNS_PLAIN;
}

static int plot_text(const struct roofline *l)
{
	struct text t = {0};
	bool ok;

	roofline_text(l, columns(), report_utf8(), &t);
	ok = !t.failed && fwrite(t.s, 1, t.length, stdout) == t.length;
	text_release(&t);
	return ok ? CLI_OK : CLI_FAILURE;
}

#ifdef KYMO_HAVE_PAGE
static bool form_of(const char *output, enum draw_form *form)
{
	switch (report_form_of(FORM_AUTO, output, "")) {
	case FORM_SVG:
		*form = DRAW_SVG;
		return strlen(output) > 4 && strcasecmp(output + strlen(output) - 4, ".svg") == 0;
	case FORM_PNG:
		*form = DRAW_PNG;
		return true;
	case FORM_JPEG:
		*form = DRAW_JPEG;
		return true;
	case FORM_PDF:
		*form = DRAW_PDF;
		return true;
	default:
		return false;
	}
}

int calibrate_plot_check(const char *output)
{
	enum draw_form form;

	if (!output || as_text(output) || form_of(output, &form))
		return CLI_OK;
	return cli_usage("calibrate",
			 "--plot \"%s\": name a file that ends with .svg, .png, .jpg or .pdf, or - "
			 "for text",
			 output);
}

static bool draw_file(const struct roofline *l, FILE *out, enum draw_form form, bool dark,
		      const char **why)
{
	struct draw *d = draw_begin(form, PLOT_WIDTH, PLOT_HEIGHT, out, "Roofline", why);

	if (!d)
		return false;
	*why = NULL;
	roofline_draw(d, l, dark);
	return draw_end(d);
}

static int plot_file(const struct roofline *l, const char *output, bool dark, bool force)
{
	char *const no_traces[] = {NULL};
	const char *why = NULL;
	struct staging place;
	enum draw_form form;
	FILE *out;
	bool ok;

	if (!form_of(output, &form) ||
	    staging_begin(&place, output, false, force, no_traces) != KYMO_OK)
		return CLI_FAILURE;
	out = fopen(place.path, "we");
	ok = out != NULL;
	if (ok) {
		staging_opened(&place);
		ok = draw_file(l, out, form, dark, &why);
		ok = fclose(out) == 0 && ok;
	}
	if (!ok)
		cli_error("%s: %s", output, why ? why : strerror(errno));
	ok = staging_end(&place, ok) == KYMO_OK && ok;
	if (ok)
		cli_note("%s", output);
	return ok ? CLI_OK : CLI_FAILURE;
}
#else
int calibrate_plot_check(const char *output)
{
	if (!output || as_text(output))
		return CLI_OK;
	return cli_usage("calibrate", "this kymo was built without zlib, which pictures need; "
				      "--plot - is text");
}

static int plot_file(const struct roofline *l, const char *output, bool dark, bool force)
{
	(void)l;
	(void)output;
	(void)dark;
	(void)force;
	return CLI_FAILURE;
}
#endif

int calibrate_plot(const struct roofs *r, const char *output, bool dark, bool force)
{
	struct roofline l;
	char why[ROOF_WHY];
	int result;

	if (!roofline_make(&l, r, NULL, 0, why)) {
		cli_error("no roofline: %s", why);
		return CLI_FAILURE;
	}
	result = as_text(output) ? plot_text(&l) : plot_file(&l, output, dark, force);
	roofline_release(&l);
	return result;
}
