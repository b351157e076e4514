/* SPDX-License-Identifier: Apache-2.0 */
/* Tells what a format could not say; see unexpressed.h. */
#include "stream/unexpressed.h"

#include "base/text.h"

void unexpressed_tell(const struct unexpressed *u, const char *format, struct stream_log *log)
{
	struct text text = {0};

	for (uint32_t i = 0; i < UNEXPRESSED_KINDS && u->rows[i].what; i++)
		text_addf(&text, "%s%llu %s", i ? ", " : "", (unsigned long long)u->rows[i].count,
			  u->rows[i].what);
	if (text.s && text.s[0])
		stream_warn(log, "%s has no place for: %s", format, text.s);
	text_release(&text);
}
