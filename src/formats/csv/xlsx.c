/* SPDX-License-Identifier: Apache-2.0 */
/* See xlsx.h. */
#include "formats/csv/xlsx.h"

const struct xlsx *xlsx_load(char why[LIBRARY_WHY])
{
#define ROW(name) LIBRARY_FUNCTION(struct xlsx, name, #name),
	static const struct library_function rows[] = {XLSX_FUNCTIONS(ROW)};
#undef ROW
	static const char *const names[] = {KYMO_XLSX_LIBRARY, NULL};
	static struct xlsx x;
	static bool loaded;

	loaded = loaded || library_find(names, "libxlsxwriter4", rows,
					sizeof(rows) / sizeof(rows[0]), &x, why);
	return loaded ? &x : NULL;
}
