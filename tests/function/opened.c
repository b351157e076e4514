/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libraries, calls `work(n)` of each n times, closes and opens them again. Prints what they returned: opened N LIBRARY... */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long use(const char *path, unsigned n)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
	unsigned long (*work)(unsigned), sum = 0;

	symbol = library ? dlsym(library, "work") : NULL;
	if (!symbol) {
		printf("%s\n", dlerror());
		exit(1);
	}
	memcpy(&work, &symbol, sizeof(work));
	for (unsigned i = 0; i < n; i++)
		sum += work(i);
	dlclose(library);
	return sum;
}

int main(int argc, char **argv)
{
	for (int round = 0; round < 2; round++)
		for (int i = 2; i < argc; i++)
			printf("%lu\n", use(argv[i], (unsigned)atoi(argv[1])));
	return 0;
}
