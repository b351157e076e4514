/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libxlsxwriter, loaded when a workbook is written: it brings libcrypto along, for which launchers and drains, which
 * are the same program, have no use and where memory is limited no room.
 *	const struct xlsx *x = xlsx_load(why);       // NULL: it cannot be loaded; `why` says why
 *	x->workbook_close(book);
 */
#ifndef FORMATS_CSV_XLSX_H
#define FORMATS_CSV_XLSX_H

#include <xlsxwriter.h>

#include "base/library.h"

#define XLSX_FUNCTIONS(X)                                                                          \
	X(format_set_bold)                                                                         \
	X(lxw_strerror)                                                                            \
	X(lxw_workbook_free)                                                                       \
	X(workbook_add_format)                                                                     \
	X(workbook_add_worksheet)                                                                  \
	X(workbook_close)                                                                          \
	X(workbook_get_worksheet_by_name)                                                          \
	X(workbook_new_opt)                                                                        \
	X(worksheet_autofilter)                                                                    \
	X(worksheet_freeze_panes)                                                                  \
	X(worksheet_set_column)                                                                    \
	X(worksheet_write_number)                                                                  \
	X(worksheet_write_string)

struct xlsx {
	XLSX_FUNCTIONS(LIBRARY_POINTER)
};

/* Stays for ever. One thread at a time. */
const struct xlsx *xlsx_load(char why[LIBRARY_WHY]);

/* Writes the workbook and frees it. NULL: done; else why not. What the library itself would print to stderr is left out. */
const char *xlsx_close(lxw_workbook *book);

#endif
