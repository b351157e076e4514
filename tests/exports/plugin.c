/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the plugin that its argument names, with RTLD_LOCAL, as Python does, and runs it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int (*run)(void) = handle ? (int (*)(void))dlsym(handle, argv[2]) : NULL;

	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	printf("%d\n", run());
	return 0;
}
