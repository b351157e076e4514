/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the values that fields have, by the record model. */
#ifndef RECORD_VALUE_H
#define RECORD_VALUE_H

#include "record/fields.h"

/* "?" for values that this version does not know. */
const char *record_value_name(enum record_set set, int64_t value);

#endif
