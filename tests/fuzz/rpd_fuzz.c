/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a database of RPD, read into the text writer. */
#include "fuzz/database_fuzz.h"

extern const struct format format_rpd;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return database_fuzz(&format_rpd, data, size);
}
