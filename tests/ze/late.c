/* SPDX-License-Identifier: Apache-2.0 */
/* A program that finds the loader when it runs, as runtimes do; late PATH FLAGS TIMES. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	int deep = argc > 2 && strcmp(argv[2], "deep") == 0;
	void *loader = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0));
	uint32_t (*init)(uint32_t), (*get)(uint32_t *, void **);
	uint32_t count = 1;
	void *driver = NULL;

	if (!loader) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&init = dlsym(loader, "zeInit");
	*(void **)&get = dlsym(loader, "zeDriverGet");
	if (init(0) != 0)
		return 2;
	for (int i = 0; i < 7; i++)
		if (get(&count, &driver) != 0 || !driver)
			return 3;
	return 0;
}
