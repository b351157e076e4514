/* SPDX-License-Identifier: Apache-2.0 */
/* The self-describing part of a raw file: enum sets and operations with their fields. */
#ifndef FORMATS_RAW_SCHEMA_H
#define FORMATS_RAW_SCHEMA_H

#include "formats/raw/internal.h"

/* DEF_ENUM_SET: the set becomes known to the process under its id. */
void schema_add_set(struct raw_process *p, const struct wire_def *d);

/* Remembers where the wire ops of a domain (global index) begin in this process. */
void schema_domain_base(struct raw_process *p, uint32_t domain, uint64_t base);

/* DEF_OP: merged with an equal op of another process, bound to its wire number. */
void schema_add_op(struct raw_process *p, const struct wire_def *d);

#endif
