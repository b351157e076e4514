/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event packets as bytes. They are almost all of a file, and the library's encoder, which walks descriptions
 * of all fields that a message can have, twice, took most of the time.
 */
#ifndef FORMATS_PERFETTO_ENCODE_H
#define FORMATS_PERFETTO_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/perfetto/trace.pb-c.h"

/* No encoded packet is larger. */
size_t encode_bound(const Pf__TracePacket *packet);

/* A packet with a track event, as Trace.packet; `out` has room for encode_bound(). Returns its end. */
uint8_t *encode_event(uint8_t *out, const Pf__TracePacket *packet);

/* The end of a slice: no name, nothing interned. ENCODE_END_MAX bytes are enough. */
enum { ENCODE_END_MAX = 64 };
uint8_t *encode_end(uint8_t *out, const Pf__TracePacket *packet, uint64_t track);

#endif
