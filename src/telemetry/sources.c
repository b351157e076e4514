/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sources. */
#include <stddef.h>

#include "telemetry/source.h"

#define SOURCE(name) extern const struct source source_##name;
#include "telemetry/sources.list"
#undef SOURCE

#define SOURCE(name) &source_##name,
const struct source *const telemetry_sources[] = {
#include "telemetry/sources.list"
	NULL};
#undef SOURCE
