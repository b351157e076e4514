/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of Level Zero (launch/launch.h). */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/launch.h"

#define LAYER          "kymo/ze/libze_validation_layer.so.1"
#define LAYER_VARIABLE "ZE_ENABLE_VALIDATION_LAYER"

/* Whether the object looks for the function `name` when it calls it, so that ours is found first.
 */
static bool looks_for(const struct link_map *map, const char *name)
{
	const char *strings = NULL;
	const ElfW(Sym) *symbols = NULL;
	const ElfW(Rela) *calls = NULL;
	size_t bytes = 0;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
		else if (d->d_tag == DT_SYMTAB)
			symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_JMPREL)
			calls = (const ElfW(Rela) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_PLTRELSZ)
			bytes = d->d_un.d_val;
	}
	for (size_t i = 0; strings && symbols && calls && i < bytes / sizeof(*calls); i++)
		if (strcmp(strings + symbols[ELF64_R_SYM(calls[i].r_info)].st_name, name) == 0)
			return true;
	return false;
}

/*
 * The loader here calls its own functions, whatever was preloaded: it is entered as a layer. It stays loaded,
 * and what its initialisers need or do is not the launcher's: launch_look().
 */
static bool needs_layer(void)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;

	return loader && dlinfo(loader, RTLD_DI_LINKMAP, &map) == 0 &&
	       !looks_for(map, "zeGetGlobalProcAddrTable");
}

/* A layer that the user asks for stays what it is; a Kymo around this one asks for ours. */
static bool others_layer(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return getenv(LAYER_VARIABLE) && !(preload && strstr(preload, "/kymo/ze/libze_"));
}

/* The loader finds the functions of libkymo.so.1 that fill its tables. */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (!launch_wants(e, self))
		return true;
	e->host = true;
	return others_layer() || !launch_look(needs_layer) ||
	       !launch_preload(e, LAUNCH_RUNTIME, LAYER) || launch_set(e, LAYER_VARIABLE, "1");
}

static void doctor(const struct launch_doctor *d)
{
	static const char *const loader[] = {"libze_loader.so.1", NULL};
	static const char *const drivers[] = {"libze_intel_gpu.so.1", "libze_intel_npu.so.1",
					      "libze_intel_vpu.so.1", NULL};
	struct text t = {0};
	const char *driver;

	if (!launch_first_that_loads(loader)) {
		d->say(LAUNCH_GOOD, "Level Zero", "no loader here (Debian: libze1)");
		return;
	}
	driver = launch_first_that_loads(drivers);
	text_addf(&t, "libze_loader.so.1 is recorded through its tables; %s",
		  driver ? driver : "no driver of Intel was found (Debian: intel-level-zero-gpu)");
	d->say(LAUNCH_GOOD, "Level Zero", t.s);
	text_release(&t);
}

const struct kymo_launch kymo_launch_ze = {
	.domains = (const char *const[]){"level_zero", NULL},
	.doors = doors,
	.own = (const char *const[]){"/kymo/ze/libze_", NULL},
	.doctor = doctor,
	.told = 40,
};
