/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface through which ROCm's runtimes hand over their tables, as far as both sides of it
 * need it: names and numbers are those of AMD's library, which is how unmodified runtimes find us.
 */
#ifndef CAPTURE_ROCM_REGISTER_H
#define CAPTURE_ROCM_REGISTER_H

#include <stddef.h>
#include <stdint.h>

#define ROCPROFILER_EXPORT __attribute__((visibility("default")))

enum rocprofiler_register_code {
	ROCP_REG_SUCCESS = 0,
	ROCP_REG_NO_TOOLS = 1,
	ROCP_REG_DEADLOCK = 2,
	ROCP_REG_BAD_API_TABLE_LENGTH = 3,
	ROCP_REG_UNSUPPORTED_API = 4,
	ROCP_REG_INVALID_API_ADDRESS = 5,
	ROCP_REG_ROCPROFILER_ERROR = 6,
	ROCP_REG_EXCESS_API_INSTANCES = 7
};

struct rocprofiler_register_identifier {
	uint64_t handle;
};

struct rocprofiler_register_info {
	size_t size;
	const char *common_name;
	uint32_t lib_version;
	uint64_t api_table_length;
};

typedef uint32_t (*rocprofiler_import_fn)(void);
typedef int (*rocprofiler_info_fn)(struct rocprofiler_register_info *info, void *data);

ROCPROFILER_EXPORT int
rocprofiler_register_library_api_table(const char *name, rocprofiler_import_fn import,
				       uint32_t version, void **tables, uint64_t count,
				       struct rocprofiler_register_identifier *out);
ROCPROFILER_EXPORT const char *rocprofiler_register_error_string(int code);
ROCPROFILER_EXPORT int rocprofiler_register_iterate_registration_info(rocprofiler_info_fn callback,
								      void *data);
/* Hands over what no profiler has yet, and everything once more (for one that was attached). */
ROCPROFILER_EXPORT int rocprofiler_register_invoke_nonpropagated_registrations(void);
ROCPROFILER_EXPORT int rocprofiler_register_invoke_all_registrations(void);

/* The profiler's side. 0: accepted. */
typedef int (*rocprofiler_set_api_table_fn)(const char *name, uint64_t version, uint64_t instance,
					    void **tables, uint64_t count);
ROCPROFILER_EXPORT int rocprofiler_set_api_table(const char *name, uint64_t version,
						 uint64_t instance, void **tables, uint64_t count);

#endif
