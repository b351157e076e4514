/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of `kymo report`: which one is meant, and how it is written. */
#ifndef CLI_REPORT_FORM_H
#define CLI_REPORT_FORM_H

#include "page/document.h"

enum report_form {
	FORM_AUTO, /* by the ending of the output, else HTML */
	FORM_HTML,
	FORM_MARKDOWN,
	FORM_PDF,
	FORM_XLSX,
	FORM_SVG,
	FORM_PNG,
	FORM_JPEG,
	FORM_COUNT
};

/* The names that --format takes, in order of enum report_form. */
#define REPORT_FORMS "auto|html|md|pdf|xlsx|svg|png|jpg"

/* What files of the form end with: ".pdf". */
const char *report_form_ending(enum report_form form);

/* FORM_AUTO: by the ending of `output` (may be NULL); pictures are of one plot, which NULL asks for. */
enum report_form report_form_of(enum report_form asked, const char *output, const char *plot);

/* Says why a form and a plot do not go together; CLI_OK: they do. `plot` is the name of one or NULL. */
int report_form_check(enum report_form form, const char *output, const char *plot);

/* All but HTML; `path` is that of `out`, for workbooks. False: *why, or errno. */
bool report_form_write(const struct page *p, enum report_form form, const struct plot *plot,
		       FILE *out, const char *path, const char **why);

/* "devices, idle": those that the trace has. */
void report_form_plots(const struct page *p, struct text *out);

#endif
