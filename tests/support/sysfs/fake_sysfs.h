/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fakes for machines that are not here: trees of /sys and /proc in a temporary folder, as the
 * kernel would show them.
 */
#ifndef TESTS_FAKE_SYSFS_H
#define TESTS_FAKE_SYSFS_H

#include <stddef.h>
#include <stdint.h>

/* A new empty root; removed by fake_remove(). Lives until then. */
const char *fake_root(void);
void fake_remove(const char *root);

/* A file below the root, with the folders above it. */
void fake_file(const char *root, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void fake_bytes(const char *root, const char *path, const void *data, size_t bytes);
/* A link at `path` to `target`, which is below the root too. */
void fake_link(const char *root, const char *path, const char *target);

/*
 * Packages of cores with two threads each: the second threads come after all first ones. L1 and L2
 * by core, L3 by package, a NUMA node of 64 GiB by package.
 */
void fake_cpus(const char *root, unsigned packages, unsigned cores);

/* A PCI function with a driver ("" none). */
void fake_pci(const char *root, const char *address, unsigned class_code, unsigned vendor,
	      unsigned device, const char *driver, int numa_node);

/* /sys/class/<class>/<name> of the PCI function. */
void fake_class(const char *root, const char *class, const char *name, const char *address);

/* KFD: node of CPUs; node of a GPU (partition) at a location id. */
void fake_kfd_cpu(const char *root, unsigned node);
void fake_kfd_gpu(const char *root, unsigned node, unsigned location, uint64_t unique_id);

/* A GPU as NVIDIA's driver shows it. */
void fake_nvidia(const char *root, const char *address, unsigned minor, const char *uuid);

#endif
