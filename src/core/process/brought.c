/* SPDX-License-Identifier: Apache-2.0 */
/* See brought.h. */
#include "core/process/brought.h"

#include "base/variables.h"

void kymo_variables_bring(const char *words)
{
	variables_bring(words);
}
