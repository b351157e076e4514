/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-libfabric.so: stands before fi_fabric(), by which a program gets the first of libfabric's
 * objects. All others come through tables of functions in these objects, which libkymo replaces.
 * What libfabric opens for itself (a provider that is built on another) stays as it is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "capture/libfabric/door.h"

typedef __typeof__(fi_fabric) fabric_fn;

/* Providers may be plugins: libNAME-fi.so. */
static bool is_libfabric(const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;

	return path &&
	       (strncmp(name ? name + 1 : path, "libfabric.so", 12) == 0 || strstr(path, "-fi.so"));
}

/* Where libfabric came with a plugin, it is not among what RTLD_NEXT looks through. */
static int find_library(struct dl_phdr_info *object, size_t size, void *data)
{
	void *library, **found = data;

	if (!is_libfabric(object->dlpi_name))
		return 0;
	library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	if (library) {
		*found = dlsym(library, "fi_fabric");
		dlclose(library);
	}
	return *found != NULL;
}

static fabric_fn *next(void)
{
	static void *_Atomic known;
	void *found = atomic_load(&known);
	fabric_fn *function;

	if (!found) {
		found = dlsym(RTLD_NEXT, "fi_fabric");
		if (!found)
			dl_iterate_phdr(find_library, &found);
		atomic_store(&known, found);
	}
	memcpy(&function, &found, sizeof(found));
	return function;
}

__attribute__((visibility("default"))) int fi_fabric(struct fi_fabric_attr *attr,
						     struct fid_fabric **fabric, void *context)
{
	const void *caller = __builtin_return_address(0);
	fabric_fn *real;
	int saved = errno;
	Dl_info info;
	bool inner;

	real = next();
	inner = dladdr(caller, &info) && is_libfabric(info.dli_fname);
	errno = saved;
	if (!real)
		return -FI_ENOSYS;
	return inner ? real(attr, fabric, context)
		     : kymo_libfabric_opened(real, attr, fabric, context, caller);
}
