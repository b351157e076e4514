/* SPDX-License-Identifier: Apache-2.0 */
/* The reader, for the table of the format (write.c). */
#ifndef FORMATS_CTF_READ_H
#define FORMATS_CTF_READ_H

#include "formats/format.h"

bool ctf_probe(const char *path);
kymo_status_t ctf_read(const char *path, const struct stream_filter *filter, bool ordered,
		       struct stream_sink *sink, const struct format_options *o);

#endif
