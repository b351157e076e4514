/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fields of kind KYMO_KIND_REF say: of what they refer to (model, RECORD_REFERENCES) a name
 * that a reader understands. Ids on the wire are local to their process; rec_fields_next() makes
 * indexes of them.
 */
#ifndef STREAM_REFERENCE_H
#define STREAM_REFERENCE_H

#include "stream/stream.h"

#define REFERENCE_TEXT 256

/* What a field refers to, by its kind and type; REFERENCE_NONE: nothing that is known here. */
enum record_reference reference_of(const struct t_field *f, bool activity);

/*
 * Name of definition `index`, in `room` where it has to be put together ("..." at its end: cut);
 * "": there is none, or it has no name. Not escaped.
 */
const char *reference_name(const struct trace *t, enum record_reference what, uint64_t index,
			   char *room, size_t size);

#endif
