/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of markers, as src/core/marker/marker.h packs them: values with names, one after the other. */
#ifndef STREAM_PAYLOAD_H
#define STREAM_PAYLOAD_H

#ifndef KYMO_MARKER_LINKED
#define KYMO_MARKER_LINKED /* its types alone */
#endif
#include <kymo/marker.h>

#include "base/text.h"
#include "stream/output.h"

struct payload_value {
	uint8_t type;    /* kymo_payload_type_t */
	const char *key; /* not terminated */
	uint32_t key_length;
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
	const uint8_t *data; /* of strings and bytes */
	uint32_t stored, total;
};

struct payload {
	const uint8_t *p, *end;
	uint32_t left_out; /* values there was no room for */
};

void payload_init(struct payload *p, const struct rec_marker *r);

/* The next value; false at the end, or where the rest is damaged. */
bool payload_next(struct payload *p, struct payload_value *out);

/* Adds a value to packed ones, in front of which is a byte that counts those left out. */
void payload_put(struct text *out, const char *key, size_t key_length, uint8_t type,
		 const void *data, size_t stored, size_t total);

/* As "key=value, key=value", strings quoted; nothing when there is none. */
void payload_text(struct output *o, const struct rec_marker *r);

/* As a JSON object; {} when there is none. Bytes become hexadecimal text. */
void payload_json(struct output *o, const struct rec_marker *r);

#endif
