/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the values that fields have, by the record model. */
#ifndef RECORD_VALUE_H
#define RECORD_VALUE_H

#include <kymo/schema.h>

/* "?" for values that this version does not know. */
const char *record_value_name(const kymo_enum_set_t *set, int64_t value);

#endif
