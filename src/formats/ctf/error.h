/* SPDX-License-Identifier: Apache-2.0 */
/* What libbabeltrace2 says of errors, for people; and its plugins. */
#ifndef FORMATS_CTF_ERROR_H
#define FORMATS_CTF_ERROR_H

#include <babeltrace2/babeltrace.h>

#include "stream/trace.h"

/* The cause that names a file has these words before its path. */
#define CTF_OF_FILE "CTF stream file '"

/* One error for `path`: `what` is wrong, and why, from the cause where it began. */
void ctf_tell_error(struct stream_log *log, const char *path, const char *what);
void ctf_drop_error(void);

/* A plugin of libbabeltrace2, which is a file of its own; NULL: it is not installed. */
const bt_plugin *ctf_plugin(const char *name);

#endif
