/* SPDX-License-Identifier: Apache-2.0 */
/* What a writer's format cannot hold; see unplaced.h. */
#include "stream/unplaced.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"

void unplaced_add(struct unplaced *u, const char *one, const char *many, uint64_t count)
{
	unsigned i = 0;

	if (!count)
		return;
	while (i < u->used && strcmp(u->kinds[i].one, one) != 0)
		i++;
	if (i == UNPLACED_KINDS) { /* rather told with others than not at all */
		i--;
		u->kinds[i].one = "record of another kind";
		u->kinds[i].many = "records of other kinds";
	} else if (i == u->used) {
		u->used++;
		u->kinds[i].one = one;
		u->kinds[i].many = many;
	}
	u->kinds[i].count += count;
}

uint64_t unplaced_total(const struct unplaced *u)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < u->used; i++)
		total += u->kinds[i].count;
	return total;
}

void unplaced_tell(const struct unplaced *u, struct stream_log *log, const char *format)
{
	for (unsigned i = 0; i < u->used; i++) {
		bool one = u->kinds[i].count == 1;

		stream_warn(log, "%s: %" PRIu64 " %s no place in this format", format,
			    u->kinds[i].count, one ? u->kinds[i].one : u->kinds[i].many);
	}
}
