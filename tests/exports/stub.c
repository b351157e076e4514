/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that has cuBLAS's functions itself and fetches the real ones when they are called, as
 * frameworks do that want to start without CUDA; and one function that uses them.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "library.h"

static void *real(const char *name)
{
	static void *handle;

	if (!handle)
		handle = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	return dlsym(handle, name);
}

int cublasCreate_v2(void **handle)
{
	int (*f)(void **) = (int (*)(void **))real("cublasCreate_v2");

	return f(handle);
}

int stub_use(void)
{
	void *handle = NULL;

	return cublasCreate_v2(&handle) == 0 && handle;
}
