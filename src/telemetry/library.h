/* SPDX-License-Identifier: Apache-2.0 */
/* A vendor's library, by dlopen: the launcher needs none of them. */
#ifndef TELEMETRY_LIBRARY_H
#define TELEMETRY_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/library.h"
#include "telemetry/source.h"

/* library_find() for a source; false: the probe was told. */
bool library_load(struct probe *p, const char *const *names,
		  const struct library_function *functions, size_t count, void *out);

/* "GPU-01234567-89ab-..." or plain digits to 16 bytes. False: there are not 32 digits. */
bool library_uuid(const char *text, uint8_t out[16]);

#endif
