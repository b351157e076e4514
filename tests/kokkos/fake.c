/* SPDX-License-Identifier: Apache-2.0 */
/* A fake for Kokkos: loads the tool that KOKKOS_TOOLS_LIBS names and calls it as Kokkos does. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct space {
	char name[64];
};
struct settings {
	bool fencing;
	bool padding[255];
};

static void *tool;

#define CALL(name, parameters, ...)                                                                \
	do {                                                                                       \
		void(*f) parameters = NULL;                                                        \
		*(void **)&f = dlsym(tool, "kokkosp_" #name);                                      \
		if (f)                                                                             \
			f(__VA_ARGS__);                                                            \
		else                                                                               \
			puts("no " #name);                                                         \
	} while (0)
#define COPY                                                                                       \
	(struct space, const char *, const void *, struct space, const char *, const void *,       \
	 uint64_t)
#define DATA  (struct space, const char *, const void *, uint64_t)
#define BEGIN (const char *, uint32_t, uint64_t *)

static void ordinary(void)
{
	struct space host = {"Host"}, cuda = {"Cuda"};
	struct settings s = {true, {false}};
	uint64_t id = 0;
	uint32_t section = 0;
	char block[100];

	CALL(request_tool_settings, (uint32_t, struct settings *), 1, &s);
	if (s.fencing)
		puts("Kymo lets Kokkos wait for everything");
	CALL(push_profile_region, (const char *), "solve");
	CALL(begin_parallel_for, BEGIN, "fill", 3, &id);
	CALL(end_parallel_for, (uint64_t), id);
	CALL(begin_parallel_reduce, BEGIN, "sum", 3, &id);
	CALL(end_parallel_reduce, (uint64_t), id);
	CALL(begin_parallel_scan, BEGIN, "scan", 3, &id);
	CALL(end_parallel_scan, (uint64_t), id);
	CALL(begin_fence, BEGIN, "wait", 3, &id);
	CALL(end_fence, (uint64_t), id);
	CALL(pop_profile_region, (void), );
	CALL(create_profile_section, (const char *, uint32_t *), "section", &section);
	CALL(start_profile_section, (uint32_t), section);
	CALL(stop_profile_section, (uint32_t), section);
	CALL(destroy_profile_section, (uint32_t), section);
	CALL(profile_event, (const char *), "event");
	CALL(allocate_data, DATA, host, "view", block, 100);
	CALL(allocate_data, DATA, cuda, "far", block, 50);
	CALL(begin_deep_copy, COPY, host, "to", block, host, "from", block, 77);
	CALL(end_deep_copy, (void), );
	CALL(deallocate_data, DATA, cuda, "far", block, 50);
	CALL(deallocate_data, DATA, host, "view", block, 100);
	CALL(dual_view_sync, (const char *, const void *, bool), "dual", block, true);
	CALL(dual_view_modify, (const char *, const void *, bool), "dual", block, false);
	CALL(declare_metadata, (const char *, const char *), "key", "value");
}

static void hostile(void)
{
	struct space unterminated;
	uint32_t section;

	memset(&unterminated, 'S', sizeof(unterminated));
	CALL(pop_profile_region, (void), );
	CALL(begin_parallel_for, BEGIN, NULL, ~0u, NULL);
	CALL(end_parallel_for, (uint64_t), 12345);
	CALL(allocate_data, DATA, unterminated, NULL, NULL, UINT64_MAX);
	CALL(deallocate_data, DATA, unterminated, NULL, (void *)8, 0);
	CALL(create_profile_section, (const char *, uint32_t *), NULL, &section);
	CALL(start_profile_section, (uint32_t), section);
	CALL(stop_profile_section, (uint32_t), section);
	CALL(start_profile_section, (uint32_t), ~0u);
	CALL(stop_profile_section, (uint32_t), ~0u);
	CALL(declare_metadata, (const char *, const char *), NULL, NULL);
	CALL(request_tool_settings, (uint32_t, struct settings *), 0, NULL);
}

int main(int argc, char **argv)
{
	const char *path = getenv("KOKKOS_TOOLS_LIBS");

	tool = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (tool) {
		CALL(init_library, (int, uint64_t, uint32_t, void *), 0, 20240906, 0, NULL);
		if (argc > 1)
			hostile();
		else
			ordinary();
		CALL(finalize_library, (void), );
	}
	puts("done");
	return 0;
}
