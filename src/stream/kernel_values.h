/* SPDX-License-Identifier: Apache-2.0 */
/* Values of counters of single kernels, kept (base/bulk.h) until the kernels are written: which comes first is not said. */
#ifndef STREAM_KERNEL_VALUES_H
#define STREAM_KERNEL_VALUES_H

#include "base/map.h"
#include "stream/stream.h"

struct kernel_value {
	uint32_t process, kernel, counter, zero; /* zero: it is written to files as it is */
	uint64_t correlation, instance;
	double value;
};

/* All zero is empty. */
struct kernel_values {
	struct kernel_value *at;
	uint32_t count, room;
	struct map places; /* by process and call: index + 1 */
};

/* Keeps the value if it is of a kernel. False: no memory. */
bool kernel_values_add(struct kernel_values *v, const struct trace *t, const struct rec_counter *r);

/* Calls `each` with each value of that kernel, in the order in which they came. */
void kernel_values_each(const struct kernel_values *v, const struct rec_dispatch *r,
			void (*each)(void *data, const struct kernel_value *value), void *data);

/* "NAME", "NAME [DIMENSION 3]" */
void kernel_value_name(const struct trace *t, const struct kernel_value *v, char *out, size_t size);

void kernel_values_release(struct kernel_values *v);

#endif
