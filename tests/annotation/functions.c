/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what Kymo provides of each annotation interface and of OMPT: "interface key", one a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/itt/itt.h"
#include "capture/nvtx/nvtx.h"
#include "capture/openmp/openmp.h"

int InitializeInjectionNvtxExtension(struct nvtx_extension *x);

static void print_nvtx(void)
{
	static const char *const modules[] = {"",       "CORE",  "CUDA", "OPENCL",
					      "CUDART", "CORE2", "SYNC"};

	for (int module = NVTX_CORE; module <= NVTX_SYNC; module++)
		for (unsigned id = 0; id < 64; id++)
			if (nvtx_events_function(module, id) || nvtx_names_function(module, id))
				printf("nvtx %s.%u\n", modules[module], id);
}

static void print_extension(const char *name, uint16_t module)
{
	intptr_t slots[64] = {0};
	struct nvtx_segment segment = {0, 64, slots};
	struct nvtx_extension x = {3, sizeof(x), module, 0x0104, 1, &segment, NULL, NULL};

	InitializeInjectionNvtxExtension(&x);
	for (unsigned i = 0; i < 64; i++)
		if (slots[i])
			printf("nvtx %s.%u\n", name, i);
}

static void print_itt(void *data, const char *name, itt_function *function)
{
	printf("itt %s\n", name);
}

static void print_ompt(const struct omp_callback *c)
{
	for (; c->event; c++)
		printf("ompt %u\n", c->event);
}

int main(void)
{
	print_nvtx();
	print_extension("MEM", 1);
	print_extension("PAYLOAD", NVTX_MODULE_PAYLOAD);
	print_extension("COUNTERS", NVTX_MODULE_COUNTERS);
	itt_object_functions(print_itt, NULL);
	itt_task_functions(print_itt, NULL);
	itt_metadata_functions(print_itt, NULL);
	itt_counter_functions(print_itt, NULL);
	itt_sync_functions(print_itt, NULL);
	print_ompt(omp_host_callbacks);
	print_ompt(omp_target_callbacks);
	return 0;
}
