/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks, when the process ends, for runtimes that were used and could not be entered, so that
 * nobody is told that the program used none.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/kymo.h>

#include "base/elf.h"
#include "base/run_options.h"
#include "base/unseen.h"

enum { MOST = 16 };

static kymo_status_t is_it(const kymo_domain_desc_t *domain, void *name)
{
	return strcmp(domain->name, name) == 0 ? KYMO_ERROR_LIMIT : KYMO_OK;
}

static bool is_seen(char *name)
{
	return kymo_domains(is_it, name) == KYMO_ERROR_LIMIT;
}

/* What is preloaded stands before the functions of others: it is no runtime of its own. */
static bool is_preloaded(const char *name)
{
	const char *list = getenv("LD_PRELOAD");

	return list && strstr(list, name);
}

/* A function of that name in a library whose own name begins with none of these. */
static bool is_elsewhere(const char *function, const char *const *but)
{
	void *found[MOST];
	unsigned n = elf_find_everywhere(function, found, MOST);

	for (unsigned i = 0; i < n; i++) {
		const char *const *b = but;
		const char *name;
		Dl_info info;

		if (!dladdr(found[i], &info) || !info.dli_fname)
			continue;
		name = strrchr(info.dli_fname, '/');
		name = name ? name + 1 : info.dli_fname;
		while (*b && strncmp(name, *b, strlen(*b)) != 0)
			b++;
		if (!*b && strstr(name, ".so") && !is_preloaded(name))
			return true;
	}
	return false;
}

/* Of OMPT: one in the process, or the user's own in the list before ours, which may be gone by now.
 */
static bool has_other_tool(void)
{
	static const char *const runtimes[] = {"libomp.", "libiomp5.", "libkymo", NULL};
	const char *list = getenv("OMP_TOOL_LIBRARIES"),
		   *ours = list ? strstr(list, "/libkymo") : NULL;

	return is_elsewhere("ompt_start_tool", runtimes) ||
	       (ours && memchr(list, ':', (size_t)(ours - list)));
}

static void look(void)
{
	static const char *const loaders[] = {"libOpenCL.", "libkymo", NULL};
	static const char *const nothing[] = {NULL};
	const char *trace = getenv("KYMO_TRACE"), *wanted = run_options_values.backends;
	int saved = errno;

	if (trace && *trace) {
		if (knob_list_has(wanted, "opencl") &&
		    is_elsewhere("clGetExtensionFunctionAddress", loaders) && !is_seen("opencl"))
			unseen_tell(trace, UNSEEN_OPENCL);
		if (knob_list_has(wanted, "openmp") && is_elsewhere("__kmpc_fork_call", nothing) &&
		    has_other_tool() && !is_seen("openmp"))
			unseen_tell(trace, UNSEEN_OMPT);
	}
	errno = saved;
}

/* Exit handlers run while all libraries are still there. */
__attribute__((constructor)) static void prepare(void)
{
	atexit(look);
}
