/* SPDX-License-Identifier: Apache-2.0 */
/* Where the commands that make pages put temporary files. */
#ifndef CLI_PAGE_FOLDER_H
#define CLI_PAGE_FOLDER_H

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Beside what is written, which has room for a file of that kind, unless the user has said where. */
static inline void page_folder(const char *output, struct text *out)
{
	const char *directory = getenv("TMPDIR"), *slash = strrchr(output, '/');

	if (directory && *directory)
		text_add(out, directory);
	else if (slash)
		text_add_bytes(out, output, slash == output ? 1 : (size_t)(slash - output));
	else
		text_add(out, ".");
}

#endif
