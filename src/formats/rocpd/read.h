/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of ROCpd as the format has it. */
#ifndef FORMATS_ROCPD_READ_H
#define FORMATS_ROCPD_READ_H

#include "formats/format.h"

bool rocpd_probe(const char *path);
kymo_status_t rocpd_read(const char *path, const struct stream_filter *filter, bool ordered,
			 struct stream_sink *sink, const struct format_options *o);

#endif
