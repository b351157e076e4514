/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-libfabric.so: stands before fi_fabric(), by which a program gets the first of libfabric's
 * objects. All others come through tables of functions in these objects, which libkymo replaces.
 * What libfabric opens for itself (a provider that is built on another) stays as it is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "base/elf.h"
#include "capture/libfabric/door.h"

typedef __typeof__(fi_fabric) fabric_fn;

/* Providers may be plugins: libNAME-fi.so. */
static bool is_libfabric(const char *path, const void *unused)
{
	const char *name = path ? strrchr(path, '/') : NULL;

	return path &&
	       (strncmp(name ? name + 1 : path, "libfabric.so", 12) == 0 || strstr(path, "-fi.so"));
}

static fabric_fn *next(void)
{
	static void *_Atomic known;
	void *found = atomic_load(&known);
	fabric_fn *function;

	if (!found) {
		found = dlsym(RTLD_NEXT, "fi_fabric");
		/* Where libfabric came with a plugin, it is not among what RTLD_NEXT looks through. */
		if (!found)
			elf_find_in(is_libfabric, NULL, "fi_fabric", &found, 1);
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
	inner = dladdr(caller, &info) && is_libfabric(info.dli_fname, NULL);
	errno = saved;
	if (!real)
		return -FI_ENOSYS;
	return inner ? real(attr, fabric, context)
		     : kymo_libfabric_opened(real, attr, fabric, context, caller);
}
