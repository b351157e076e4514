/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of the activity domains that core has, indexed by the numbers of record/fields.h. */
#ifndef CORE_ACTIVITY_H
#define CORE_ACTIVITY_H

#include "core/capture.h"
#include "record/fields.h"

#define CORE_OPS_OF(name, short, count, bit) extern struct cap_op core_##short##_ops[count];
RECORD_BUILTIN_DOMAINS(CORE_OPS_OF)
#undef CORE_OPS_OF

#endif
