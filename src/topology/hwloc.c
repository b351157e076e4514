/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages, cores and caches by hwloc, which knows how to mend what firmware tells wrong. It is
 * loaded when somebody asks for agents, never before, and of its components only those that read
 * files are let in: the others would initialise GPU runtimes, or move this thread from CPU to CPU.
 * PCI devices are not asked of it either: it reads their configuration space, which wakes them.
 */
#include "topology/model.h"

#ifndef KYMO_HAVE_HWLOC

bool topo_read_hwloc(struct topo *t, struct topo_packages *all)
{
	topo_source_add(
		t, "hwloc", KYMO_ERROR_UNSUPPORTED,
		"Kymo was built without hwloc (Debian: libhwloc-dev); sysfs is read instead");
	return false;
}

#else

#include <dlfcn.h>
#include <hwloc.h>

#define LIBRARY "libhwloc.so.15"

#define FUNCTIONS(X)                                                                               \
	X(get_api_version)                                                                         \
	X(topology_init)                                                                           \
	X(topology_destroy)                                                                        \
	X(topology_set_flags)                                                                      \
	X(topology_set_components)                                                                 \
	X(topology_set_all_types_filter)                                                           \
	X(topology_set_io_types_filter)                                                            \
	X(topology_is_thissystem)                                                                  \
	X(topology_load)                                                                           \
	X(get_type_depth)                                                                          \
	X(get_nbobjs_by_depth)                                                                     \
	X(get_obj_by_depth)                                                                        \
	X(bitmap_isset)                                                                            \
	X(bitmap_weight)                                                                           \
	X(bitmap_intersects)

struct hw {
	hwloc_topology_t topology;
#define POINTER(name) __typeof__(hwloc_##name) *name;
	FUNCTIONS(POINTER)
#undef POINTER
};

static bool look_up(struct hw *hw, void *library)
{
#define LOOK_UP(f)                                                                                 \
	hw->f = (__typeof__(hw->f))dlsym(library, "hwloc_" #f);                                    \
	if (!hw->f)                                                                                \
		return false;
	FUNCTIONS(LOOK_UP)
#undef LOOK_UP
	return true;
}

/* The library stays loaded: it is asked once in a process. */
static bool load_library(struct topo *t, struct hw *hw)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	unsigned version;

	if (!library) {
		topo_source_add(t, "hwloc", KYMO_ERROR_NOT_FOUND,
				"%s cannot be loaded; sysfs is read instead (Debian: libhwloc15)",
				LIBRARY);
		return false;
	}
	if (!look_up(hw, library)) {
		topo_source_add(t, "hwloc", KYMO_ERROR_UNSUPPORTED,
				"%s is older than 2.1; sysfs is read instead", LIBRARY);
		return false;
	}
	version = hw->get_api_version();
	if (version >> 16 != HWLOC_API_VERSION >> 16) {
		topo_source_add(t, "hwloc", KYMO_ERROR_UNSUPPORTED,
				"%s has API %x, Kymo supports %x; sysfs is read instead", LIBRARY,
				version, HWLOC_API_VERSION);
		return false;
	}
	return true;
}

/* Only components that read files; errors mean that there is no such component. */
static void restrict_components(const struct hw *hw)
{
	static const char unwanted[][12] = {"x86",  "opencl",    "cuda", "nvml",
					    "rsmi", "levelzero", "gl",   "pci"};

	for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
		hw->topology_set_components(hw->topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
					    unwanted[i]);
}

static bool discover(struct topo *t, const struct hw *hw)
{
	restrict_components(hw);
	hw->topology_set_all_types_filter(hw->topology, HWLOC_TYPE_FILTER_KEEP_ALL);
	hw->topology_set_io_types_filter(hw->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	if (hw->topology_set_flags(hw->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
	    hw->topology_load(hw->topology) != 0) {
		topo_source_add(t, "hwloc", KYMO_ERROR_SYSTEM,
				"%s could not read the machine; sysfs is read instead", LIBRARY);
		return false;
	}
	if (!hw->topology_is_thissystem(hw->topology)) {
		topo_source_add(t, "hwloc", KYMO_ERROR_UNSUPPORTED,
				"HWLOC_ variables make it describe another machine; sysfs is read "
				"instead");
		return false;
	}
	return true;
}

static uint32_t count_inside(const struct hw *hw, hwloc_obj_type_t type, hwloc_const_cpuset_t set)
{
	int depth = hw->get_type_depth(hw->topology, type);
	unsigned n = depth < 0 ? 0 : hw->get_nbobjs_by_depth(hw->topology, depth);
	uint32_t count = 0;

	for (unsigned i = 0; i < n; i++)
		count += hw->bitmap_intersects(hw->get_obj_by_depth(hw->topology, depth, i)->cpuset,
					       set) != 0;
	return count;
}

static void add_caches(struct topo *t, const struct hw *hw, struct topo_package *p,
		       hwloc_const_cpuset_t set)
{
	for (hwloc_obj_type_t type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; type++) {
		int depth = hw->get_type_depth(hw->topology, type);
		unsigned n = depth < 0 ? 0 : hw->get_nbobjs_by_depth(hw->topology, depth);

		for (unsigned i = 0; i < n; i++) {
			hwloc_obj_t o = hw->get_obj_by_depth(hw->topology, depth, i);
			struct hwloc_cache_attr_s *c = &o->attr->cache;
			kymo_agent_cache_t cache = {
				.level = c->depth, .bytes = c->size, .line_bytes = c->linesize};

			if (!hw->bitmap_intersects(o->cpuset, set))
				continue;
			cache.type = c->type == HWLOC_OBJ_CACHE_UNIFIED ? KYMO_AGENT_CACHE_UNIFIED
				     : c->type == HWLOC_OBJ_CACHE_DATA
					     ? KYMO_AGENT_CACHE_DATA
					     : KYMO_AGENT_CACHE_INSTRUCTION;
			cache.shared_by = (uint32_t)hw->bitmap_weight(o->cpuset);
			topo_cache(t, p->agent, &cache, 1);
		}
	}
}

static void add_package(struct topo *t, struct topo_packages *all, const struct hw *hw,
			int64_t number, hwloc_const_cpuset_t set)
{
	struct topo_package *p = topo_package(t, all, number);

	if (!p)
		return;
	for (unsigned cpu = 0; cpu < TOPO_CPUS; cpu++)
		if (hw->bitmap_isset(set, cpu))
			p->cpus[cpu / 64] |= (uint64_t)1 << cpu % 64;
	p->agent->a.threads = count_inside(hw, HWLOC_OBJ_PU, set);
	p->agent->a.compute_units = count_inside(hw, HWLOC_OBJ_CORE, set);
	if (!p->agent->a.compute_units)
		p->agent->a.compute_units = p->agent->a.threads;
	add_caches(t, hw, p, set);
}

/* The number of a package that has none is its place. */
static void add_packages(struct topo *t, struct topo_packages *all, const struct hw *hw)
{
	int depth = hw->get_type_depth(hw->topology, HWLOC_OBJ_PACKAGE);
	unsigned count = depth < 0 ? 0 : hw->get_nbobjs_by_depth(hw->topology, depth);

	for (unsigned i = 0; i < count; i++) {
		hwloc_obj_t o = hw->get_obj_by_depth(hw->topology, depth, i);

		add_package(t, all, hw, o->os_index == HWLOC_UNKNOWN_INDEX ? i : o->os_index,
			    o->cpuset);
	}
	if (count == 0) /* the machine is one */
		add_package(t, all, hw, 0, hw->get_obj_by_depth(hw->topology, 0, 0)->cpuset);
}

bool topo_read_hwloc(struct topo *t, struct topo_packages *all)
{
	struct hw functions, *hw = &functions;

	if (!load_library(t, hw))
		return false;
	if (hw->topology_init(&hw->topology) != 0) {
		topo_source_add(t, "hwloc", KYMO_ERROR_SYSTEM,
				"%s could not begin; sysfs is read instead", LIBRARY);
		return false;
	}
	if (discover(t, hw)) {
		add_packages(t, all, hw);
		topo_source_add(t, "hwloc", KYMO_OK, "%s, API %x", LIBRARY, hw->get_api_version());
	}
	hw->topology_destroy(hw->topology);
	return all->count > 0;
}

#endif
