/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a file of roofs. It is refused with a reason, or written again it is what it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "roofs/roofs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_text(const char *json, size_t bytes, struct text *again)
{
	struct roofs_list l = {.list = NULL};
	char why[ROOF_WHY] = "";
	bool ok = roofs_read(json, bytes, &l, why);

	if (!ok && !why[0])
		abort();
	for (uint32_t i = 0; ok && i < l.count; i++) {
		if (l.list[i].count > ROOFS_MOST)
			abort();
		(void)roofs_best(&l.list[i], "fp32");
		(void)roofs_were_disturbed(&l.list[i]);
	}
	if (ok)
		roofs_write(&l, again);
	roofs_list_release(&l);
	return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text once = {.s = NULL}, twice = {.s = NULL};

	if (read_text((const char *)data, size, &once) &&
	    (!read_text(once.s, once.length, &twice) || strcmp(once.s, twice.s) != 0))
		abort();
	text_release(&once);
	text_release(&twice);
	return 0;
}
