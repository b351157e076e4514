/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as an export of Nsight Systems, read into the text writer. */
#include "fuzz/database_fuzz.h"

extern const struct format format_nsys;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return database_fuzz(&format_nsys, data, size);
}
