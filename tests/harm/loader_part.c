/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries of loader.c: the fake (-DLIBRARY) that has FUNCTION, which fails, the plugin (-DPLUGIN) that calls
 * it, the one that loads slowly (-DSLOW), and one that has nothing.
 */
#include <stdio.h>

int FUNCTION(void *a, void *b, void *c);

#ifdef LIBRARY
int FUNCTION(void *a, void *b, void *c)
{
	puts("called");
	fflush(stdout);
	return 1;
}
#elif defined(PLUGIN)
void loader_plugin(void);

void loader_plugin(void)
{
	int value = 0;

	FUNCTION(&value, &value, &value);
}
#elif defined(SLOW)
void loader_in_constructor(void);

__attribute__((constructor)) static void constructor(void)
{
	loader_in_constructor();
}
#endif
