/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libhwloc.so.15 that finds no memory when it begins. It has the functions that Kymo looks up;
 * none but the first two may be called.
 */
unsigned hwloc_get_api_version(void)
{
	return 0x00020100;
}

int hwloc_topology_init(void **topology)
{
	return -1;
}

#define NEVER(name)                                                                                \
	void hwloc_##name(void)                                                                    \
	{                                                                                          \
		__builtin_trap();                                                                  \
	}
NEVER(topology_destroy)
NEVER(topology_set_flags)
NEVER(topology_set_components)
NEVER(topology_set_all_types_filter)
NEVER(topology_set_io_types_filter)
NEVER(topology_is_thissystem)
NEVER(topology_load)
NEVER(get_type_depth)
NEVER(get_nbobjs_by_depth)
NEVER(get_obj_by_depth)
NEVER(bitmap_isset)
NEVER(bitmap_weight)
NEVER(bitmap_intersects)
