/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake of libocca: whatever else Kymo looks for in it, under the same names, so that nothing is missing. Nobody
 * calls these; where library.cpp has the function, it is the one. OCCA_LACKS: some are missing, as in another version.
 */
#include "capture/occa/functions.h"

#define REST(id, symbol)                                                                           \
	void rest_##id(void) __asm__(symbol);                                                      \
	__attribute__((weak, visibility("default"))) void rest_##id(void)                          \
	{                                                                                          \
	}
#ifdef OCCA_LACKS
#undef OCCA_NOTED_C
#define OCCA_NOTED_C(N)
#else
OCCA_WRAPPED(REST)
OCCA_ASKED(REST)
#endif
OCCA_NOTED(REST)
