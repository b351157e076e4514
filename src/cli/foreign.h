/* SPDX-License-Identifier: Apache-2.0 */
/* Files of other tools as traces: for `kymo import`, and for a while where another command is given one. */
#ifndef CLI_FOREIGN_H
#define CLI_FOREIGN_H

#include "base/text.h"
#include "formats/format.h"

/* What a trace of that file is called: RESULTS.rpd becomes RESULTS.kymo; of files .json.gz and .xplane.pb both suffixes go. */
void cli_foreign_name(const char *path, struct text *out);

/*
 * Makes the trace `directory`, which must not be there, of what `reader` finds at `path`. `passing`: it is to
 * be shown as that.
 */
kymo_status_t cli_foreign_import(const struct format *reader, const char *path,
				 const char *directory, bool passing, uint64_t *records);

/*
 * Puts traces, which last as long as the command, in the place of operands that are files of another tool.
 * `passes_on`: not of those whose format the command reads itself. False: one could not be read, and was said
 * why.
 */
bool cli_foreign_operands(int argc, char **argv, bool passes_on);

/* The file that such a trace is made of; NULL: it is a trace of its own. */
const char *cli_foreign_source(const char *trace);

#endif
