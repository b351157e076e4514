/* SPDX-License-Identifier: Apache-2.0 */
/* See roofline_plot.h. */
#include "cli/roofline_plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/report_form.h"
#include "cli/staging.h"
#include "report/report.h"
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

int roofline_plot_check(const char *command, const char *option, const char *output)
{
	enum draw_form form;

	if (!output || as_text(output) || form_of(output, &form))
		return CLI_OK;
	return cli_usage(command,
			 "%s \"%s\": name a file that ends with .svg, .png, .jpg or .pdf, or - "
			 "for text",
			 option, output);
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

static int plot_file(const struct roofline *l, const struct roofline_plot *p)
{
	char *const no_traces[] = {NULL};
	const char *why = NULL;
	struct staging place;
	enum draw_form form;
	FILE *out;
	bool ok;

	if (!form_of(p->output, &form) ||
	    staging_begin(&place, p->output, false, p->force, no_traces) != KYMO_OK)
		return CLI_FAILURE;
	out = fopen(place.path, "we");
	ok = out != NULL;
	if (ok) {
		staging_opened(&place);
		ok = draw_file(l, out, form, p->dark, &why);
		ok = fclose(out) == 0 && ok;
	}
	if (!ok)
		cli_error("%s: %s", p->output, why ? why : strerror(errno));
	ok = staging_end(&place, ok) == KYMO_OK && ok;
	if (ok)
		cli_note("%s", p->output);
	return ok ? CLI_OK : CLI_FAILURE;
}
#else
int roofline_plot_check(const char *command, const char *option, const char *output)
{
	if (!output || as_text(output))
		return CLI_OK;
	return cli_usage(command,
			 "%s: this kymo was built without zlib, which pictures need; - is text",
			 option);
}

static int plot_file(const struct roofline *l, const struct roofline_plot *p)
{
	return CLI_FAILURE;
}
#endif

int roofline_plot(const struct roofs *r, const struct roofline_plot *p)
{
	struct roofline l;
	char why[ROOF_WHY];
	int result;

	if (!roofline_make(&l, r, p->points, p->count, why)) {
		cli_error("no roofline: %s", why);
		return CLI_FAILURE;
	}
	result = as_text(p->output) ? plot_text(&l) : plot_file(&l, p);
	roofline_release(&l);
	return result;
}
