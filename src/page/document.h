/* SPDX-License-Identifier: Apache-2.0 */
/* What the page says, in forms to read and to print: Markdown, PDF, a picture of one plot. */
#ifndef PAGE_DOCUMENT_H
#define PAGE_DOCUMENT_H

#include "page/plot.h"

/* Facts, digest, tables, comparison, findings. False: `out` could not be written to (errno). */
bool document_markdown(const struct page *p, FILE *out);

/* Facts, digest, findings, plots, tables, comparison. False: as above; *why: what is missing to begin with, else NULL. */
bool document_pdf(const struct page *p, FILE *out, const char **why);

/* One plot: its pictures below each other, of PDF a page each. */
bool document_plot(const struct page *p, const struct plot *plot, enum draw_form form, FILE *out,
		   const char **why);

#endif
