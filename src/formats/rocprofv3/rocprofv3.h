/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What AMD's rocprofv3 writes, as this format writes and reads it: folders of CSV files, and its JSON document.
 *
 *	kinds.c        what rocprofv3 calls things, and how it numbers them
 *	stats.c        the sums of each function, kernel, direction
 *	write.c        what both writers have in common
 *	csv.c          a folder of CSV files
 *	json.c         the document, records
 *	document.c     the document, what records refer to
 *	format.c       the choice between these
 *	reader.h       the reader
 */
#ifndef FORMATS_ROCPROFV3_H
#define FORMATS_ROCPROFV3_H

#include "base/map.h"
#include "formats/format.h"
#include "stream/output.h"
#include "stream/unplaced.h"

/* Lists of records, as the document names them and the files are called; then those of further domains. */
enum rp_list {
	LIST_KERNELS,
	LIST_HIP,
	LIST_HSA,
	LIST_MARKERS,
	LIST_RCCL,
	LIST_COPIES,
	LIST_MEMORY,
	LIST_SCRATCH,
	LIST_ROCDECODE,
	LIST_ROCJPEG,
	LIST_HOST_TRAP,
	LIST_STOCHASTIC,
	LIST_COUNTERS,
	LIST_AGENTS, /* as a file alone */
	LISTS        /* and on: by the number of the domain */
};

/* Kinds of records (rocprofiler_buffer_tracing_kind_t); then those of further domains. */
enum rp_kind {
	KIND_HSA_CORE = 1,
	KIND_HSA_AMD_EXT,
	KIND_HSA_IMAGE_EXT,
	KIND_HSA_FINALIZE_EXT,
	KIND_MARKER_CORE = 7,
	KIND_MARKER_CONTROL,
	KIND_MARKER_NAME,
	KIND_COPY,
	KIND_KERNEL,
	KIND_RCCL = 14,
	KIND_MEMORY = 16,
	KIND_HIP = 21,
	KIND_HIP_COMPILER,
	KIND_MARKER_RANGE = 32,
	KINDS
};

enum { MARKER_ID = 48 }; /* numbers of markers, which are no calls, have this bit */

/* Numbers within their process, of what the trace numbers in all. */
struct rp_numbers {
	const struct trace *t;
	uint32_t *agents;               /* 1 and on; the host is 0 */
	uint32_t *kernels;              /* 1 and on */
	uint32_t *counters;             /* 1 and on */
	uint32_t *places;               /* of ops in their kind */
	uint16_t *kinds;                /* of ops */
	uint64_t *dispatches, *markers; /* of each process so far */
	uint32_t kinds_count;
};

/* False: no memory. */
bool rp_number(struct rp_numbers *n, const struct trace *t);
void rp_numbers_release(struct rp_numbers *n);

/* A device that rocprofv3 has a place for. */
bool rp_is_agent(const struct t_agent *a);

/* "HIP_RUNTIME_API_EXT"; of a further domain in capitals. `out` holds it where needed. */
const char *rp_kind_name(const struct rp_numbers *n, uint32_t kind, char out[64]);
/* Its list, and what that is called: "hip_api". */
uint32_t rp_list_of(uint32_t kind);
const char *rp_list_name(const struct rp_numbers *n, uint32_t list, char out[64]);
/* As sums name it: "HIP_API". */
const char *rp_list_title(const struct rp_numbers *n, uint32_t list, char out[64]);

enum { DIRECTIONS = 5 };
extern const char *const rp_directions[DIRECTIONS];
/* Place in these. */
uint32_t rp_direction(const struct trace *t, const struct rec_copy *r);
extern const char *const rp_memory_ops[5];
uint32_t rp_memory_op(const struct trace *t, const struct rec_allocation *r);

/* Why a record has no place; NULL: it has. */
const char *rp_unplaced_dispatch(const struct rec_dispatch *r);
const char *rp_unplaced_copy(const struct trace *t, const struct rec_copy *r);

/* ---- stats.c --------------------------------------------------------------------------------- */

struct rp_stat {
	uint32_t process, list;
	const char *name; /* NULL: of all of the list */
	uint64_t count, sum, min, max;
	double squares;
};

struct rp_stats {
	struct rp_stat *at;
	uint32_t count, room;
	struct map found;
	uint32_t recent[64]; /* + 1, by a name's address and what it is of */
};

/* One more; `name` stays. False: no memory. */
bool rp_stats_add(struct rp_stats *s, uint32_t process, uint32_t list, const char *name,
		  uint64_t ns);
/* By process, list and sum, all of a list before what it is of. */
void rp_stats_sort(struct rp_stats *s);
double rp_stat_variance(const struct rp_stat *s);
void rp_stats_release(struct rp_stats *s);

#endif
