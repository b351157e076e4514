/* SPDX-License-Identifier: Apache-2.0 */
/* See xlsx.h. */
#include "formats/csv/xlsx.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct xlsx x;

const struct xlsx *xlsx_load(char why[LIBRARY_WHY])
{
#define ROW(name) LIBRARY_FUNCTION(struct xlsx, name, #name),
	static const struct library_function rows[] = {XLSX_FUNCTIONS(ROW)};
#undef ROW
	static const char *const names[] = {KYMO_XLSX_LIBRARY, NULL};
	static bool loaded;

	loaded = loaded || library_find(names, "libxlsxwriter4", rows,
					sizeof(rows) / sizeof(rows[0]), &x, why);
	return loaded ? &x : NULL;
}

/* Standard error goes nowhere; what it was, to be given back, or -1. */
static int hush(void)
{
	int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stderr);
	if (kept >= 0 && nowhere >= 0)
		dup2(nowhere, STDERR_FILENO);
	if (nowhere >= 0)
		close(nowhere);
	return kept;
}

static void unhush(int kept)
{
	fflush(stderr);
	if (kept < 0)
		return;
	dup2(kept, STDERR_FILENO);
	close(kept);
}

const char *xlsx_close(lxw_workbook *book)
{
	const int kept = hush();
	lxw_error error;
	int number;

	errno = 0;
	error = x.workbook_close(book);
	number = errno;
	unhush(kept);
	if (error == LXW_NO_ERROR)
		return NULL;
	return number ? strerror(number) : x.lxw_strerror(error);
}
