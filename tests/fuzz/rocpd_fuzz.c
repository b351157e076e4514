/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a ROCpd database, read in both orders into the text writer. */
#include "fuzz/database_fuzz.h"

extern const struct format format_rocpd;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return database_fuzz(&format_rocpd, data, size);
}
