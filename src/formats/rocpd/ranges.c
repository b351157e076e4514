/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of ranges. Writers have them in the event ("message") and AMD's have there, as the region's name, the function
 * that began it; Kymo has the name in both places, and its op where a range has a text of its own, but no name.
 * Those are names of the trace, by which ranges are added up; further ones than NAMES_MOST stay texts.
 */
#include <string.h>

#include "base/hash.h"
#include "formats/rocpd/reader.h"
#include "stream/make.h"

enum { NAMES_MOST = 1 << 16 };

static bool is_op(const char *name)
{
	static const char *const ops[] = {"", "mark", "range", "process_range", "pause", "resume"};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (strcmp(ops[i], name) == 0)
			return true;
	return false;
}

uint32_t range_text(const char *name, const struct dbvalue *extdata, char out[RANGE_TEXT])
{
	const char *text;
	uint32_t length;
	size_t n = strlen(name);

	if (json_find_text(extdata, "message", &text, &length))
		return json_unescape(text, length, out, RANGE_TEXT);
	n = n < RANGE_TEXT ? n : RANGE_TEXT;
	memcpy(out, name, n);
	return (uint32_t)n;
}

bool range_learn(struct reader *r, const char *name, const struct dbvalue *extdata)
{
	char text[RANGE_TEXT];
	uint32_t length = range_text(name, extdata, text), known;
	uint64_t key = hash_bytes(text, length);

	if (is_op(name) || !length || r->range_count >= NAMES_MOST || map_get(&r->ranges, key))
		return true;
	known = make_string(r->t, text, length);
	r->range_count++;
	return known && map_set(&r->ranges, key, known);
}

uint32_t range_name(const struct reader *r, const char *name, const char *text, uint32_t length)
{
	return is_op(name) ? 0 : (uint32_t)map_get(&r->ranges, hash_bytes(text, length));
}
