/* SPDX-License-Identifier: Apache-2.0 */
/* The peer's tracepoints: a pair for each call, four fields each. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kymo_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "peer_lttng_tp.h"

#if !defined(BENCH_PEER_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_PEER_LTTNG_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
	kymo_bench, call_entry,
	LTTNG_UST_TP_ARGS(void *, handle, uint32_t, index, size_t, size, const void *, value),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uintptr_t, handle, (uintptr_t)handle)
				    lttng_ust_field_integer(uint32_t, index, index)
					    lttng_ust_field_integer(size_t, size, size)
						    lttng_ust_field_integer_hex(uintptr_t, value,
										(uintptr_t)value)))

LTTNG_UST_TRACEPOINT_EVENT(
	kymo_bench, call_exit,
	LTTNG_UST_TP_ARGS(void *, handle, int, result, size_t, size, const void *, value),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uintptr_t, handle, (uintptr_t)handle)
				    lttng_ust_field_integer(int, result, result)
					    lttng_ust_field_integer(size_t, size, size)
						    lttng_ust_field_integer_hex(uintptr_t, value,
										(uintptr_t)value)))

#endif

#include <lttng/tracepoint-event.h>
