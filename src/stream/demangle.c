/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C++ library knows how names are made; it is opened when the first one is met, so that nothing
 * else needs it. Without it names stay as they are in the program.
 */
#include "stream/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static char *(*known)(const char *symbol, char *out, size_t *size, int *status);

static void find_demangler(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;

	memcpy(&known, &symbol, sizeof(known));
}

char *demangle(const char *symbol)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int status = 0;

	if (strncmp(symbol, "_Z", 2) != 0)
		return NULL;
	pthread_once(&once, find_demangler);
	return known ? known(symbol, NULL, NULL, &status) : NULL;
}
