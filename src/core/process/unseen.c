/* SPDX-License-Identifier: Apache-2.0 */
/* See unseen.h. */
#include "core/process/unseen.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/kymo.h>

#include "base/elf.h"

enum { MOST = 16 };

extern const struct cap_unseen *const __start_kymo_unseen[] __attribute__((weak));
extern const struct cap_unseen *const __stop_kymo_unseen[] __attribute__((weak));

static kymo_status_t is_it(const kymo_domain_desc_t *domain, void *name)
{
	return strcmp(domain->name, name) == 0 ? KYMO_ERROR_LIMIT : KYMO_OK;
}

static bool is_seen(const char *name)
{
	return kymo_domains(is_it, (void *)(uintptr_t)name) == KYMO_ERROR_LIMIT;
}

/* What is preloaded stands before the functions of others: it is no runtime of its own. */
static bool is_preloaded(const char *name)
{
	const char *list = getenv("LD_PRELOAD");

	return list && strstr(list, name);
}

bool cap_is_elsewhere(const char *function, const char *const *but)
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

void kymo_unseen_look(bool (*wanted)(const char *domain),
		      void (*tell)(const char *domain, const char *text))
{
	int saved = errno;

	for (const struct cap_unseen *const *u = __start_kymo_unseen; u < __stop_kymo_unseen; u++)
		if (wanted((*u)->domain) && (*u)->look() && !is_seen((*u)->domain))
			tell((*u)->domain, (*u)->text);
	errno = saved;
}
