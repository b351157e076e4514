/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of devices; see amd_agent.h. */
#include "stream/amd_agent.h"

#include <stddef.h>

/* In order; "{" begins an object that "}" ends, "[]" is an empty list. */
static const char *const keys[] = {
	"cpu_cores_count",
	"simd_count",
	"mem_banks_count",
	"caches_count",
	"io_links_count",
	"cpu_core_id_base",
	"simd_id_base",
	"max_waves_per_simd",
	"lds_size_in_kb",
	"gds_size_in_kb",
	"num_gws",
	"wave_front_size",
	"num_xcc",
	"cu_count",
	"array_count",
	"num_shader_banks",
	"simd_arrays_per_engine",
	"cu_per_simd_array",
	"simd_per_cu",
	"max_slots_scratch_cu",
	"gfx_target_version",
	"vendor_id",
	"device_id",
	"location_id",
	"domain",
	"drm_render_minor",
	"num_sdma_engines",
	"num_sdma_xgmi_engines",
	"num_sdma_queues_per_engine",
	"num_cp_queues",
	"max_engine_clk_ccompute",
	"max_engine_clk_fcompute",
	"{sdma_fw_version",
	"uCodeSDMA",
	"uCodeRes",
	"}",
	"{fw_version",
	"uCode",
	"Major",
	"Minor",
	"Stepping",
	"}",
	"{capability",
	"HotPluggable",
	"HSAMMUPresent",
	"SharedWithGraphics",
	"QueueSizePowerOfTwo",
	"QueueSize32bit",
	"QueueIdleEvent",
	"VALimit",
	"WatchPointsSupported",
	"WatchPointsTotalBits",
	"DoorbellType",
	"AQLQueueDoubleMap",
	"DebugTrapSupported",
	"WaveLaunchTrapOverrideSupported",
	"WaveLaunchModeSupported",
	"PreciseMemoryOperationsSupported",
	"DEPRECATED_SRAM_EDCSupport",
	"Mem_EDCSupport",
	"RASEventNotify",
	"ASICRevision",
	"SRAM_EDCSupport",
	"SVMAPISupported",
	"CoherentHostAccess",
	"DebugSupportedFirmware",
	"Reserved",
	"PreciseALUOperationsSupported",
	"PerQueueResetSupported",
	"}",
	"cu_per_engine",
	"max_waves_per_cu",
	"family_id",
	"workgroup_max_size",
	"grid_max_size",
	"local_mem_size",
	"hive_id",
	"gpu_id",
	"{workgroup_max_dim",
	"x",
	"y",
	"z",
	"}",
	"{grid_max_dim",
	"x",
	"y",
	"z",
	"}",
};

void amd_agent_values(struct json *j)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (keys[i][0] == '}') {
			json_close(j);
		} else if (keys[i][0] == '{') {
			json_name(j, keys[i] + 1);
			json_open(j, '{');
		} else {
			json_name(j, keys[i]);
			json_add_unsigned(j, 0);
		}
	}
}

void amd_agent_lists(struct json *j)
{
	static const char *const lists[] = {"mem_banks", "caches", "io_links"};

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		json_name(j, lists[i]);
		json_open(j, '[');
		json_close(j);
	}
}
