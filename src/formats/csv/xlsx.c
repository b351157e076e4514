/* SPDX-License-Identifier: Apache-2.0 */
/* See xlsx.h. */
#include "formats/csv/xlsx.h"

#include <dlfcn.h>
#include <stddef.h>

const struct xlsx *xlsx_load(void)
{
	static struct xlsx x;
	static void *library;

	if (library)
		return &x;
	library = dlopen(KYMO_XLSX_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return NULL;
#define XLSX_FUNCTION(name)                                                                        \
	x.name = (__typeof__(x.name))dlsym(library, #name);                                        \
	if (!x.name)                                                                               \
		library = NULL;
	XLSX_FUNCTIONS(XLSX_FUNCTION)
#undef XLSX_FUNCTION
	return library ? &x : NULL;
}
