/* SPDX-License-Identifier: Apache-2.0 */
/* What is read from machines: whole ones, broken ones, and this one in two ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "topology/topology.h"

#include "fake_sysfs.h"

#define GIB ((uint64_t)1 << 30)

static const kymo_agent_t *nth(const struct topo *t, kymo_agent_type_t type, unsigned n)
{
	for (size_t i = 0; i < topo_agent_count(t); i++)
		if (topo_agent(t, i)->type == type && n-- == 0)
			return topo_agent(t, i);
	return NULL;
}

static unsigned count(const struct topo *t, kymo_agent_type_t type)
{
	unsigned n = 0;

	while (nth(t, type, n))
		n++;
	return n;
}

static const char *property(const kymo_agent_t *a, const char *name)
{
	for (size_t i = 0; a->properties[i]; i++)
		if (strcmp(a->properties[i]->name, name) == 0)
			return a->properties[i]->value;
	return "";
}

static const kymo_agent_source_t *source(const struct topo *t, const char *name)
{
	for (size_t i = 0; i < topo_source_count(t); i++)
		if (strcmp(topo_source(t, i)->name, name) == 0)
			return topo_source(t, i);
	fail_msg("there is no source \"%s\"", name);
	return NULL;
}

/* What holds for every agent of every machine, however broken. */
static struct topo *read_checked(const char *root, bool hwloc)
{
	struct topo *t = topo_read(root, hwloc);

	assert_non_null(t);
	for (size_t i = 0; i < topo_agent_count(t); i++) {
		const kymo_agent_t *a = topo_agent(t, i);

		assert_non_null(a);
		assert_int_equal(a->size, sizeof(*a));
		assert_int_equal(a->id, i + 1);
		assert_true(a->parent <= topo_agent_count(t) && a->parent != a->id);
		assert_non_null(kymo_agent_type_name(a->type));
		assert_non_null(a->name);
		assert_non_null(a->caches);
		assert_non_null(a->numa);
		assert_null(a->handles[0]);
		assert_non_null(a->properties);
	}
	for (size_t i = 0; i < topo_source_count(t); i++)
		assert_non_null(topo_source(t, i)->text);
	return t;
}

static void check_cache(const kymo_agent_cache_t *c, uint32_t level, kymo_agent_cache_type_t type,
			uint64_t bytes, uint32_t shared_by, uint32_t number)
{
	assert_non_null(c);
	assert_int_equal(c->level, level);
	assert_int_equal(c->type, type);
	assert_int_equal(c->bytes, bytes);
	assert_int_equal(c->shared_by, shared_by);
	assert_int_equal(c->count, number);
}

/* ---- CPUs ---- */

static void test_two_packages(void **state)
{
	const char *root = fake_root();
	const kymo_agent_t *a;
	struct topo *t;

	fake_cpus(root, 2, 4);
	t = read_checked(root, false);
	assert_int_equal(count(t, KYMO_AGENT_CPU), 2);
	a = nth(t, KYMO_AGENT_CPU, 1);
	assert_string_equal(a->name, "Test CPU 1 @ 2.00GHz");
	assert_string_equal(a->vendor, "Intel");
	assert_string_equal(property(a, "model"), "207");
	assert_int_equal(a->compute_units, 4);
	assert_int_equal(a->threads, 8);
	assert_int_equal(a->memory_bytes, 64 * GIB);
	assert_int_equal(a->numa_node, 1);
	assert_int_equal(a->numa[0]->threads, 8);
	assert_null(a->numa[1]);
	assert_int_equal(a->clock_max_hz, 3000015ull * 1000);
	assert_int_equal(nth(t, KYMO_AGENT_CPU, 0)->clock_max_hz, 3000999ull * 1000);
	check_cache(a->caches[0], 1, KYMO_AGENT_CACHE_DATA, 32 << 10, 2, 4);
	check_cache(a->caches[1], 1, KYMO_AGENT_CACHE_INSTRUCTION, 32 << 10, 2, 4);
	check_cache(a->caches[2], 2, KYMO_AGENT_CACHE_UNIFIED, 1 << 20, 2, 4);
	check_cache(a->caches[3], 3, KYMO_AGENT_CACHE_UNIFIED, 32 << 20, 8, 1);
	assert_null(a->caches[4]);
	assert_int_equal(source(t, "cpu")->status, KYMO_OK);
	topo_free(t);
	fake_remove(root);
}

/* Memory without CPUs belongs to the package that the kernel says is nearest. */
static void test_memory_only_node(void **state)
{
	const char *root = fake_root();
	const kymo_agent_t *a;
	struct topo *t;

	fake_cpus(root, 3, 1);
	fake_file(root, "/sys/devices/system/node/node3/cpulist", "\n");
	fake_file(root, "/sys/devices/system/node/node3/distance", "24 14 20 10\n");
	fake_file(root, "/sys/devices/system/node/node3/meminfo", "Node 3 MemTotal: 1048576 kB\n");
	t = read_checked(root, false);
	assert_null(nth(t, KYMO_AGENT_CPU, 0)->numa[1]);
	a = nth(t, KYMO_AGENT_CPU, 1);
	assert_int_equal(a->numa[1]->node, 3);
	assert_int_equal(a->numa[1]->threads, 0);
	assert_int_equal(a->numa[1]->memory_bytes, GIB);
	assert_int_equal(a->memory_bytes, 65 * GIB);
	topo_free(t);
	fake_remove(root);
}

/* No NUMA, no caches, no package numbers, one CPU off. */
static void test_plain_machine(void **state)
{
	const char *root = fake_root();
	const kymo_agent_t *a;
	struct topo *t;

	fake_file(root, "/sys/devices/system/cpu/online", "0,2-3\n");
	fake_file(root, "/sys/devices/system/cpu/cpu1/topology/physical_package_id", "7\n");
	fake_file(root, "/sys/devices/system/cpu/cpu2/topology/physical_package_id", "-1\n");
	fake_file(root, "/proc/meminfo", "MemTotal:  2097152 kB\n");
	fake_file(root, "/proc/cpuinfo",
		  "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd40\n");
	t = read_checked(root, false);
	assert_int_equal(count(t, KYMO_AGENT_CPU), 1);
	a = nth(t, KYMO_AGENT_CPU, 0);
	assert_int_equal(a->compute_units, 3);
	assert_int_equal(a->threads, 3);
	assert_int_equal(a->memory_bytes, 2 * GIB);
	assert_string_equal(a->vendor, "Arm");
	assert_string_equal(a->name, "CPU");
	topo_free(t);
	fake_remove(root);
}

static void test_nothing(void **state)
{
	const char *root = fake_root();
	struct topo *t = read_checked(root, true); /* hwloc is not for other roots */

	assert_int_equal(topo_agent_count(t), 0);
	assert_int_equal(source(t, "cpu")->status, KYMO_ERROR_NOT_FOUND);
	assert_int_equal(source(t, "pci")->status, KYMO_ERROR_NOT_FOUND);
	topo_free(t);
	fake_remove(root);
}

/* ---- AMD ---- */

static void amd_node(const char *root)
{
	char address[32];

	fake_cpus(root, 2, 2);
	fake_kfd_cpu(root, 0);
	fake_kfd_cpu(root, 1);
	for (unsigned i = 0; i < 8; i++) {
		snprintf(address, sizeof(address), "0000:%02x:00.0", 0x10 * (i + 1));
		fake_pci(root, address, 0x120000, 0x1002, 0x74a1, "amdgpu", (int)i / 4);
	}
}

static void test_amd(void **state)
{
	const char *root = fake_root();
	const kymo_agent_t *a;
	struct topo *t;

	amd_node(root);
	for (unsigned i = 0; i < 8; i++)
		fake_kfd_gpu(root, 2 + i, 0x1000 * (i + 1), 0xabc0 + i);
	fake_class(root, "drm", "card0", "0000:10:00.0");
	fake_class(root, "drm", "renderD128", "0000:10:00.0");
	fake_file(root, "/sys/devices/pci0000:00/0000:10:00.0/mem_info_vram_total",
		  "206141652992\n");
	fake_file(root, "/sys/devices/pci0000:00/0000:10:00.0/current_compute_partition", "SPX\n");
	fake_file(root, "/sys/module/amdgpu/version", "6.12.12\n");
	t = read_checked(root, false);
	assert_int_equal(count(t, KYMO_AGENT_GPU), 8);
	a = nth(t, KYMO_AGENT_GPU, 0);
	assert_string_equal(a->vendor, "AMD");
	assert_string_equal(a->driver, "amdgpu");
	assert_string_equal(a->version, "6.12.12");
	assert_string_equal(a->uuid, "GPU-000000000000abc0");
	assert_int_equal(a->compute_units, 38);
	assert_int_equal(a->threads, 152);
	assert_int_equal(a->clock_max_hz, 2100000000);
	assert_int_equal(a->memory_bytes, 206141652992);
	assert_string_equal(property(a, "gfx_target"), "gfx942");
	assert_string_equal(property(a, "drm_render"), "renderD128");
	assert_string_equal(property(a, "xgmi_links"), "1");
	check_cache(a->caches[0], 1, KYMO_AGENT_CACHE_DATA, 32 << 10, 1, 2);
	check_cache(a->caches[1], 2, KYMO_AGENT_CACHE_DATA, 4 << 20, 3, 1);
	a = nth(t, KYMO_AGENT_GPU, 7);
	assert_int_equal(a->pci->bus, 0x80);
	assert_int_equal(a->numa_node, 1);
	assert_int_equal(a->memory_bytes, 24 * GIB);
	assert_null(a->partition);
	assert_int_equal(source(t, "kfd")->status, KYMO_OK);
	topo_free(t);
	fake_remove(root);
}

/* Eight nodes at one address, told apart as old and new kernels do it. */
static void check_partitions(bool old)
{
	const char *root = fake_root();
	const kymo_agent_t *up, *a;
	struct topo *t;

	fake_cpus(root, 1, 1);
	fake_pci(root, "0000:10:00.0", 0x120000, 0x1002, 0x74a1, "amdgpu", 0);
	for (unsigned i = 0; i < 8; i++)
		fake_kfd_gpu(root, 1 + i, 0x1000 | (old ? 7 - i : (7 - i) << 28), 0xabc);
	t = read_checked(root, false);
	assert_int_equal(count(t, KYMO_AGENT_GPU), 9);
	up = nth(t, KYMO_AGENT_GPU, 0);
	assert_int_equal(up->parent, 0);
	assert_int_equal(up->compute_units, 8 * 38);
	assert_int_equal(up->memory_bytes, 8 * 24 * GIB);
	assert_string_equal(property(up, "partitions"), "8");
	for (unsigned i = 0; i < 8; i++) {
		a = nth(t, KYMO_AGENT_GPU, 1 + i);
		assert_int_equal(a->parent, up->id);
		assert_int_equal(atoi(a->partition), 7 - i);
		assert_int_equal(a->compute_units, 38);
		assert_int_equal(a->pci->bus, 0x10);
	}
	topo_free(t);
	fake_remove(root);
}

static void test_amd_partitions(void **state)
{
	check_partitions(false);
	check_partitions(true);
}

/* Each is left out alone; the good node stays. Keys in any order, values that do not fit. */
static void test_kfd_broken(void **state)
{
#define NODE "/sys/class/kfd/kfd/topology/nodes/"
	static const char zeros[100];
	const char *root = fake_root();
	char *huge = malloc(70000);
	const kymo_agent_t *a;
	struct topo *t;

	memset(huge, 'x', 70000);
	fake_file(root, NODE "0/properties", "%s", "");
	fake_bytes(root, NODE "1/properties", zeros, sizeof(zeros));
	fake_bytes(root, NODE "2/properties", huge, 70000);
	fake_file(root, NODE "nonsense/properties", "simd_count 4\n");
	fake_file(root, NODE "99999999999999999999/properties", "simd_count 4\n");
	fake_file(root, NODE "4/name", "no properties");
	fake_file(root, NODE "5/properties", "simd_count abc\ncpu_cores_count -3\n");
	fake_file(root, NODE "6/properties/folder", "x");
	fake_link(root, NODE "7/properties", NODE "7/properties");
	fake_kfd_gpu(root, 8, 0x4000, 0);
	fake_file(root, NODE "8/caches/3/properties", "level 99\nsize 1\n");
	fake_file(root, NODE "8/caches/4/properties", "level 3\nsize 99999999999999\n");
	fake_file(root, NODE "8/caches/5/properties", "level 3\nsize 64\ntype\nsibling_map\n");
	fake_file(root, NODE "8/mem_banks/1/properties",
		  "heap_type 1\nsize_in_bytes 18446744073709551615\n");
	fake_file(root, NODE "8/mem_banks/2/properties", /* the host does not see it */
		  "heap_type 2\nsize_in_bytes 1073741824\n");
	fake_file(root, NODE "9/properties",
		  "location_id 20480\nsimd_per_cu 0\nsimd_count 18446744073709551615\n"
		  "max_engine_clk_fcompute 99999999999\ngfx_target_version 99999999\n");
	t = read_checked(root, false);
	assert_int_equal(source(t, "kfd")->status, KYMO_ERROR_CORRUPT);
	assert_int_equal(count(t, KYMO_AGENT_GPU), 2);
	a = nth(t, KYMO_AGENT_GPU, 0);
	assert_int_equal(a->pci->bus, 0x40);
	assert_null(a->uuid);
	assert_int_equal(a->memory_bytes, 25 * GIB);
	check_cache(a->caches[2], 3, KYMO_AGENT_CACHE_UNIFIED, 64 << 10, 0, 1);
	assert_null(a->caches[3]);
	a = nth(t, KYMO_AGENT_GPU, 1);
	assert_int_equal(a->compute_units, 0);
	assert_int_equal(a->clock_max_hz, 0);
	free(huge);
	topo_free(t);
	fake_remove(root);
}

static void test_kfd_denied(void **state)
{
	const char *root = fake_root();
	char path[256];
	struct topo *t;

	fake_kfd_gpu(root, 1, 0x1000, 1);
	fake_kfd_gpu(root, 2, 0x2000, 2);
	snprintf(path, sizeof(path), "%s" NODE "2/properties", root);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(chmod(root, 0755), 0);
	if (geteuid() == 0) /* who may read everything */
		assert_int_equal(seteuid(65534), 0);
	t = read_checked(root, false);
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(count(t, KYMO_AGENT_GPU), 1);
	assert_int_equal(source(t, "kfd")->status, KYMO_ERROR_SYSTEM);
	topo_free(t);
	snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes", root);
	assert_int_equal(chmod(path, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	t = read_checked(root, false);
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(source(t, "kfd")->status, KYMO_ERROR_SYSTEM);
	topo_free(t);
	assert_int_equal(chmod(path, 0755), 0);
	fake_remove(root);
#undef NODE
}

/* ---- NVIDIA ---- */

static void test_nvidia(void **state)
{
	const char *root = fake_root();
	const kymo_agent_t *a;
	struct topo *t;

	fake_pci(root, "0000:3b:00.0", 0x030200, 0x10de, 0x2335, "nvidia", 0);
	fake_pci(root, "0000:5e:00.0", 0x030200, 0x10de, 0x2335, "nvidia", 1);
	fake_pci(root, "0000:00:1f.0", 0x060100, 0x8086, 0x1b81, "", 0); /* no agent */
	fake_nvidia(root, "0000:3b:00.0", 0, "GPU-8f3c0011-2233-4455-6677-8899aabbccdd");
	fake_nvidia(root, "0000:5e:00.0", 1, "GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?");
	fake_file(root, "/proc/driver/nvidia/capabilities/gpu1/mig/gi1/ci0/access",
		  "DeviceFile: 1\n");
	fake_file(root, "/proc/driver/nvidia/capabilities/gpu1/mig/gi1/access", "DeviceFile: 1\n");
	fake_file(root, "/proc/driver/nvidia/capabilities/gpu1/mig/gi2/ci0/access",
		  "DeviceFile: 1\n");
	t = read_checked(root, false);
	assert_int_equal(topo_agent_count(t), 4);
	a = nth(t, KYMO_AGENT_GPU, 0);
	assert_string_equal(a->name, "NVIDIA H200");
	assert_string_equal(a->uuid, "GPU-8f3c0011-2233-4455-6677-8899aabbccdd");
	assert_string_equal(a->version, "580.95.05");
	assert_int_equal(a->pci->device_id, 0x2335);
	assert_int_equal(a->pci->revision, 0xa1);
	assert_int_equal(a->memory_bytes, 0); /* the driver's files do not tell */
	a = nth(t, KYMO_AGENT_GPU, 1);
	assert_null(a->uuid);
	assert_string_equal(property(a, "mig_instances"), "2");
	a = nth(t, KYMO_AGENT_GPU, 3);
	assert_string_equal(a->partition, "gi2/ci0");
	assert_int_equal(a->parent, nth(t, KYMO_AGENT_GPU, 1)->id);
	topo_free(t);
	fake_remove(root);
}

/* The GPU is there, its driver is not, and the list of names is. */
static void test_names(void **state)
{
	const char *root = fake_root();
	struct topo *t;

	fake_pci(root, "0000:3b:00.0", 0x030000, 0x10de, 0x2335, "", -1);
	fake_pci(root, "0000:3c:00.0", 0x020000, 0xfeed, 0x0001, "", -1);
	fake_pci(root, "0000:3d:00.0", 0x020000, 0xbeef, 0x0001, "", -1);
	fake_file(root, "/usr/share/misc/pci.ids",
		  "# comment\n\n10de  NVIDIA Corporation\n\t1234  Wrong\n\t2335  GH100 [H200]\n"
		  "\t\t10de 0001  Board\nfeed  Feed Inc.\n\t0001  Feeder\nC 03  Display\n\t00  "
		  "VGA\n");
	t = read_checked(root, false);
	assert_string_equal(topo_agent(t, 0)->name, "GH100 [H200]");
	assert_string_equal(topo_agent(t, 0)->vendor, "NVIDIA");
	assert_string_equal(topo_agent(t, 1)->name, "Feeder");
	assert_string_equal(topo_agent(t, 1)->vendor, "Feed Inc.");
	assert_string_equal(topo_agent(t, 2)->vendor, "0xbeef");
	assert_non_null(strstr(source(t, "nvidia")->text, "not NVIDIA's driver"));
	topo_free(t);
	fake_remove(root);
}

/* ---- others ---- */

static void test_intel_npu_nic(void **state)
{
	const char *root = fake_root();
	const kymo_agent_t *a;
	struct topo *t;

	fake_pci(root, "0000:00:02.0", 0x030000, 0x8086, 0x7d55, "i915", -1);
	fake_class(root, "drm", "card1", "0000:00:02.0");
	fake_class(root, "drm", "renderD129", "0000:00:02.0");
	fake_class(root, "drm", "card1-HDMI-A-1", "0000:00:02.0");
	fake_file(root, "/sys/class/drm/card1/gt_RP0_freq_mhz", "2250\n");
	fake_pci(root, "0000:03:00.0", 0x030000, 0x8086, 0xe20b, "xe", -1);
	fake_class(root, "drm", "card2", "0000:03:00.0");
	fake_file(root, "/sys/devices/pci0000:00/0000:03:00.0/tile0/gt0/freq0/rp0_freq", "2850\n");
	fake_file(root, "/sys/devices/pci0000:00/0000:03:00.0/power/runtime_status", "suspended\n");
	fake_pci(root, "0000:00:0b.0", 0x120000, 0x8086, 0x7d1d, "intel_vpu", -1);
	fake_class(root, "accel", "accel0", "0000:00:0b.0");
	fake_pci(root, "0000:81:00.0", 0x020700, 0x15b3, 0x1021, "mlx5_core", 1);
	fake_pci(root, "0000:81:00.1", 0x020700, 0x15b3, 0x101e, "mlx5_core", 1);
	fake_link(root, "/sys/devices/pci0000:00/0000:81:00.1/physfn",
		  "/sys/devices/pci0000:00/0000:81:00.0");
	fake_link(root, "/sys/devices/pci0000:00/0000:81:00.0/virtfn0",
		  "/sys/devices/pci0000:00/0000:81:00.1");
	fake_class(root, "net", "ib0", "0000:81:00.0");
	fake_file(root, "/sys/class/net/ib0/speed", "400000\n");
	fake_class(root, "infiniband", "mlx5_0", "0000:81:00.0");
	fake_file(root, "/sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002\n");
	fake_file(root, "/sys/class/net/lo/type", "772\n");
	fake_pci(root, "0000:02:00.0", 0x030000, 0x1a03, 0x2000, "ast", -1);
	fake_pci(root, "0000:41:00.0", 0x120000, 0x10ee, 0x5004, "xclmgmt", -1);
	t = read_checked(root, false);
	assert_int_equal(count(t, KYMO_AGENT_GPU), 2);
	a = nth(t, KYMO_AGENT_GPU, 0);
	assert_int_equal(a->clock_max_hz, 2250000000u);
	assert_string_equal(property(a, "drm_render"), "renderD129");
	a = nth(t, KYMO_AGENT_GPU, 1); /* sleeps: is not asked */
	assert_int_equal(a->clock_max_hz, 0);
	assert_string_equal(property(a, "power"), "suspended");
	assert_string_equal(property(nth(t, KYMO_AGENT_NPU, 0), "accel"), "accel0");
	a = nth(t, KYMO_AGENT_NIC, 0);
	assert_string_equal(property(a, "net"), "ib0");
	assert_string_equal(property(a, "net_mbit_per_second"), "400000");
	assert_string_equal(property(a, "infiniband"), "mlx5_0");
	assert_string_equal(nth(t, KYMO_AGENT_NIC, 1)->partition, "vf0");
	assert_int_equal(nth(t, KYMO_AGENT_NIC, 1)->parent, a->id);
	assert_int_equal(count(t, KYMO_AGENT_OTHER), 1);
	assert_int_equal(count(t, KYMO_AGENT_FPGA), 1);
	topo_free(t);
	fake_remove(root);
}

/* GPUs of systems on a chip; a network adapter on USB and virtio. */
static void test_not_on_pci(void **state)
{
	const char *root = fake_root();
	const kymo_agent_t *a;
	struct topo *t;

	fake_file(root, "/sys/devices/platform/ff9a0000.gpu/uevent",
		  "DRIVER=panfrost\nOF_COMPATIBLE_0=rockchip,rk3399-mali\n");
	fake_link(root, "/sys/devices/platform/ff9a0000.gpu/driver", "/sys/bus/drivers/panfrost");
	fake_link(root, "/sys/class/drm/card0/device", "/sys/devices/platform/ff9a0000.gpu");
	fake_link(root, "/sys/class/drm/renderD128/device", "/sys/devices/platform/ff9a0000.gpu");
	fake_pci(root, "0000:00:03.0", 0x020000, 0x1af4, 0x1041, "virtio-pci", -1);
	fake_file(root, "/sys/devices/pci0000:00/0000:00:03.0/virtio2/x", "x");
	fake_link(root, "/sys/class/net/eth0/device",
		  "/sys/devices/pci0000:00/0000:00:03.0/virtio2");
	fake_file(root, "/sys/devices/pci0000:00/0000:00:03.0/usb1/1-1/x", "x");
	fake_link(root, "/sys/class/net/usb0/device",
		  "/sys/devices/pci0000:00/0000:00:03.0/usb1/1-1");
	t = read_checked(root, false);
	assert_int_equal(topo_agent_count(t), 2);
	a = nth(t, KYMO_AGENT_GPU, 0);
	assert_null(a->pci);
	assert_string_equal(a->name, "rockchip,rk3399-mali");
	assert_string_equal(a->vendor, "rockchip");
	assert_string_equal(a->driver, "panfrost");
	a = nth(t, KYMO_AGENT_NIC, 0);
	assert_string_equal(property(a, "net"), "eth0");
	assert_string_equal(a->properties[1]->name, "net");
	assert_null(a->properties[2]);
	topo_free(t);
	fake_remove(root);
}

/* ---- broken ---- */

static void test_broken(void **state)
{
	static const char binary[] = "\x7f"
				     "ELF\0\0\1\2\3";
	const char *root = fake_root();
	char *huge = malloc(200000), path[256];
	struct topo *t;

	memset(huge, '9', 200000);
	fake_file(root, "/sys/devices/system/cpu/online", "0-4294967295\n");
	fake_file(root, "/sys/devices/system/cpu/cpu0/topology/core_cpus_list", "3-1,,x\n");
	fake_bytes(root, "/sys/devices/system/cpu/cpu0/topology/physical_package_id", binary, 9);
	fake_bytes(root, "/sys/devices/system/cpu/cpu0/cache/index0/level", huge, 200000);
	fake_file(root, "/sys/devices/system/cpu/cpu0/cache/index1/level", "1\n");
	fake_file(root, "/sys/devices/system/cpu/cpu0/cache/index1/size",
		  "99999999999999999999K\n");
	fake_file(root, "/sys/devices/system/node/node0/cpulist", "0-99999999999999999999\n");
	fake_bytes(root, "/sys/devices/system/node/node0/meminfo", binary, 9);
	fake_bytes(root, "/proc/cpuinfo", huge, 200000);
	fake_file(root, "/sys/bus/pci/devices/rubbish/class", "0x030000\n");
	fake_file(root, "/sys/bus/pci/devices/0000:00:01.0/class", "%s", "");
	fake_file(root, "/sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
	fake_bytes(root, "/sys/bus/pci/devices/0000:00:02.0/vendor", "0x10de\n\0x", 9);
	fake_file(root, "/sys/bus/pci/devices/0000:00:02.0/numa_node", "99999999999\n");
	fake_link(root, "/sys/bus/pci/devices/0000:00:02.0/physfn",
		  "/sys/bus/pci/devices/0000:00:02.0");
	fake_link(root, "/sys/bus/pci/devices/0000:00:03.0", "/sys/bus/pci/devices/0000:00:03.0");
	fake_link(root, "/sys/class/drm/card0", "/sys/class/drm/card0");
	fake_link(root, "/sys/class/drm/renderD1/device", "/sys/nowhere");
	fake_bytes(root, "/proc/driver/nvidia/gpus/0000:99:00.0/information", binary, 9);
	fake_file(root, "/proc/driver/nvidia/gpus/what/information", "Model: x\n");
	fake_bytes(root, "/usr/share/misc/pci.ids", huge, 200000);
	snprintf(path, sizeof(path), "%s/sys/class/net", root);
	fake_file(root, "/sys/class/net/pipe0/x", "x");
	snprintf(path, sizeof(path), "%s/sys/class/net/pipe0/speed", root);
	assert_int_equal(mkfifo(path, 0600), 0); /* must not hang */
	fake_link(root, "/sys/class/net/pipe0/device", "/sys/bus/pci/devices/0000:00:02.0");
	t = read_checked(root, false);
	assert_int_equal(nth(t, KYMO_AGENT_CPU, 0)->threads, 8192);
	assert_int_equal(count(t, KYMO_AGENT_GPU), 2);
	assert_int_equal(nth(t, KYMO_AGENT_GPU, 0)->numa_node, -1);
	assert_int_equal(nth(t, KYMO_AGENT_GPU, 0)->parent, 0);
	assert_int_equal(nth(t, KYMO_AGENT_GPU, 0)->pci->vendor_id, 0);
	assert_int_equal(source(t, "pci")->status, KYMO_ERROR_CORRUPT);
	assert_int_equal(source(t, "nvidia")->status, KYMO_ERROR_CORRUPT);
	free(huge);
	topo_free(t);
	fake_remove(root);
}

/* More than is kept: the rest is told of, not lost silently. */
static void test_limits(void **state)
{
	const char *root = fake_root();
	char path[128];
	struct topo *t;

	for (unsigned i = 0; i < 1030; i++) {
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:00:00.0/class", i);
		fake_file(root, path, "0x020000\n");
	}
	t = read_checked(root, false);
	assert_int_equal(topo_agent_count(t), 1024);
	assert_int_equal(source(t, "limits")->status, KYMO_ERROR_LIMIT);
	assert_int_equal(strncmp(source(t, "limits")->text, "6 agents", 8), 0);
	topo_free(t);
	fake_remove(root);
}

/* ---- this machine ---- */

static void test_hwloc_agrees(void **state)
{
	struct topo *plain = read_checked("", false), *hwloc = read_checked("", true);
	const kymo_agent_t *a, *b;

	if (source(hwloc, "hwloc")->status != KYMO_OK) {
		print_message("skipped: %s\n", source(hwloc, "hwloc")->text);
		topo_free(plain);
		topo_free(hwloc);
		skip();
	}
	assert_int_equal(topo_agent_count(plain), topo_agent_count(hwloc));
	assert_true(count(plain, KYMO_AGENT_CPU) > 0);
	for (unsigned i = 0; (a = nth(plain, KYMO_AGENT_CPU, i)); i++) {
		b = nth(hwloc, KYMO_AGENT_CPU, i);
		assert_non_null(b);
		assert_string_equal(a->name, b->name);
		assert_int_equal(a->compute_units, b->compute_units);
		assert_int_equal(a->threads, b->threads);
		assert_int_equal(a->memory_bytes, b->memory_bytes);
		for (unsigned c = 0; a->caches[c] || b->caches[c]; c++) {
			check_cache(a->caches[c], b->caches[c]->level, b->caches[c]->type,
				    b->caches[c]->bytes, b->caches[c]->shared_by,
				    b->caches[c]->count);
			assert_int_equal(a->caches[c]->line_bytes, b->caches[c]->line_bytes);
		}
	}
	assert_true(nth(plain, KYMO_AGENT_CPU, 0)->threads <=
		    (unsigned)sysconf(_SC_NPROCESSORS_CONF));
	topo_free(plain);
	topo_free(hwloc);
}

/* Before support/sysfs/fake_hwloc.c, which the loader finds when this program is started so. */
static void test_hwloc_cannot_begin(void **state)
{
	struct topo *plain = read_checked("", false), *t = read_checked("", true);

	assert_int_equal(source(t, "hwloc")->status, KYMO_ERROR_SYSTEM);
	assert_non_null(strstr(source(t, "hwloc")->text, "sysfs is read instead"));
	assert_int_equal(topo_agent_count(t), topo_agent_count(plain));
	topo_free(plain);
	topo_free(t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest alone[] = {cmocka_unit_test(test_hwloc_cannot_begin)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_packages),  cmocka_unit_test(test_memory_only_node),
		cmocka_unit_test(test_plain_machine), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_amd),           cmocka_unit_test(test_amd_partitions),
		cmocka_unit_test(test_kfd_broken),    cmocka_unit_test(test_kfd_denied),
		cmocka_unit_test(test_nvidia),        cmocka_unit_test(test_names),
		cmocka_unit_test(test_intel_npu_nic), cmocka_unit_test(test_not_on_pci),
		cmocka_unit_test(test_broken),        cmocka_unit_test(test_limits),
		cmocka_unit_test(test_hwloc_agrees),
	};

	if (argc > 1)
		return cmocka_run_group_tests(alone, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
