/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that runtimes report become one agent with what the machine shows of them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "topology/topology.h"

#include "fake_sysfs.h"

static const uint8_t gpu0[16] = {0x8f, 0x3c, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
				 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd};
static const uint8_t mig0[16] = {1, 2, 3}, mig1[16] = {4, 5, 6};

static const char *root;
static struct topo *t;

static int set_up(void **state)
{
	root = fake_root();
	fake_cpus(root, 2, 2);
	fake_pci(root, "0000:3b:00.0", 0x030200, 0x10de, 0x2335, "nvidia", 0);
	fake_pci(root, "0000:5e:00.0", 0x030200, 0x10de, 0x2335, "nvidia", 1);
	fake_pci(root, "0000:60:00.0", 0x120000, 0x1002, 0x74a1, "amdgpu", 1);
	fake_nvidia(root, "0000:3b:00.0", 0, "GPU-8f3c0011-2233-4455-6677-8899aabbccdd");
	fake_nvidia(root, "0000:5e:00.0", 1, "GPU-00000000-2233-4455-6677-8899aabbccdd");
	fake_kfd_gpu(root, 2, 0x6000, 0x1122334455667788);
	t = topo_read(root, false);
	return t ? 0 : -1;
}

static int tear_down(void **state)
{
	topo_free(t);
	fake_remove(root);
	return 0;
}

static struct core_agent_report device(kymo_agent_type_t type, const char *domain, uint64_t handle,
				       uint32_t record)
{
	struct core_agent_report r = CORE_AGENT_REPORT_INIT;

	r.type = type;
	r.domain = domain;
	r.name = "as shown";
	r.handle = handle;
	r.record = record;
	return r;
}

static struct core_agent_report at(const char *domain, uint64_t handle, uint8_t bus)
{
	struct core_agent_report r = device(KYMO_AGENT_GPU, domain, handle, 0);

	r.pci_domain = 0;
	r.pci_bus = bus;
	return r;
}

static uint32_t report(struct core_agent_report r)
{
	uint32_t id = 0;

	assert_int_equal(topo_report(t, &r, &id), KYMO_OK);
	return id;
}

static const kymo_agent_t *agent(uint32_t id)
{
	const kymo_agent_t *a = topo_agent(t, id - 1);

	assert_non_null(a);
	return a;
}

static unsigned handles(uint32_t id)
{
	unsigned n = 0;

	while (agent(id)->handles[n])
		n++;
	return n;
}

/* CUDA by address, OpenCL by uuid, another OpenCL platform by address: one agent. */
static void test_one_device(void **state)
{
	struct core_agent_report cuda = at("cuda", 0, 0x3b);
	struct core_agent_report cl = device(KYMO_AGENT_GPU, "opencl", 0x7000, 11);
	struct core_agent_report other = at("opencl", 0x7100, 0x3b);
	size_t before = topo_agent_count(t);
	const kymo_agent_t *old;
	uint32_t id;

	cuda.ordinal = 0;
	cuda.memory_bytes = 1 << 20;
	cl.platform = "NVIDIA CUDA";
	cl.uuid = gpu0;
	cl.uuid_bytes = 16;
	other.platform = "rusticl";
	id = report(cuda);
	old = agent(id);
	assert_int_equal(report(cl), id);
	assert_int_equal(report(other), id);
	assert_int_equal(topo_agent_count(t), before);
	assert_int_equal(handles(id), 3);
	assert_string_equal(agent(id)->name, "NVIDIA H200"); /* the driver's name stays */
	assert_int_equal(agent(id)->memory_bytes, 1 << 20);  /* it did not tell this */
	assert_string_equal(agent(id)->handles[1]->platform, "NVIDIA CUDA");
	assert_int_equal(agent(id)->handles[1]->record, 11);
	assert_ptr_equal(topo_find_record(t, 11), agent(id));
	assert_null(topo_find_record(t, 12));
	assert_null(old->handles[1]); /* what was given out does not change */
}

static void test_amd_uuids(void **state)
{
	struct core_agent_report hip = device(KYMO_AGENT_GPU, "hip", 0, 0);
	struct core_agent_report hsa = device(KYMO_AGENT_GPU, "hsa", 0x10, 0);
	uint32_t id;

	hip.uuid = (const uint8_t *)"1122334455667788"; /* HIP gives digits */
	hip.uuid_bytes = 16;
	hsa.kfd_node = 2;
	id = report(hip);
	assert_string_equal(agent(id)->uuid, "GPU-1122334455667788");
	assert_int_equal(report(hsa), id);
	assert_int_equal(report(at("opencl", 1, 0x60)), id);
}

/* The same handle for another device: the runtime has used it again. */
static void test_handle_reuse(void **state)
{
	struct core_agent_report r = at("opencl", 0x7000, 0x3b);
	uint32_t first, second;

	r.record = 1;
	first = report(r);
	assert_int_equal(report(r), first);
	assert_int_equal(handles(first), 1);
	r.pci_bus = 0x5e;
	r.record = 2;
	second = report(r);
	assert_int_not_equal(first, second);
	assert_int_equal(handles(first), 0);
	assert_int_equal(handles(second), 1);
	assert_int_equal(topo_find_record(t, 1)->id, first); /* old records keep their meaning */
	topo_retire(t, "cuda", 0x7000);
	assert_int_equal(handles(second), 1);
	topo_retire(t, "opencl", 0x7000);
	assert_int_equal(handles(second), 0);
}

/* MIG instances share the address and have uuids of their own. */
static void test_mig(void **state)
{
	struct core_agent_report r = at("cuda", 1, 0x3b);
	uint32_t whole = report(r), a, b;

	r.uuid = mig0;
	r.uuid_bytes = 16;
	r.handle = 2;
	a = report(r);
	r.uuid = mig1;
	r.handle = 3;
	b = report(r);
	assert_true(a != whole && b != whole && a != b);
	assert_int_equal(agent(a)->parent, whole);
	assert_int_equal(agent(b)->parent, whole);
	r.domain = "opencl";
	assert_int_equal(report(r), b);
	r.partition = "gi7/ci0";
	r.domain = "level_zero";
	assert_string_equal(agent(report(r))->partition, "gi7/ci0");
}

/* One platform shows two devices at one address that nothing else tells apart. */
static void test_two_at_one_address(void **state)
{
	struct core_agent_report r = at("opencl", 1, 0x60);
	uint32_t first, second;

	r.ordinal = 0;
	first = report(r);
	r.handle = 2;
	r.ordinal = 1;
	second = report(r);
	assert_int_not_equal(first, second);
	assert_int_equal(agent(second)->parent, first);
	r.platform = "another";
	r.handle = 3;
	assert_int_equal(report(r), first);
}

static void test_sub_devices(void **state)
{
	struct core_agent_report up = at("opencl", 1, 0x3b);
	struct core_agent_report sub = at("opencl", 2, 0x3b), sub2;
	uint32_t whole, part;

	up.record = 1;
	whole = report(up);
	sub.record = 2;
	sub.parent_record = 1;
	sub.compute_units = 4;
	part = report(sub);
	assert_int_not_equal(part, whole);
	assert_int_equal(agent(part)->parent, whole);
	assert_int_equal(agent(part)->compute_units, 4);
	assert_int_equal(handles(whole), 1);
	sub2 = sub;
	sub2.record = 3;
	sub2.parent_record = 2;
	sub2.handle = 3;
	assert_int_equal(agent(report(sub2))->parent, part);
	topo_retire(t, "opencl", 2);
	sub.record = 4;
	for (unsigned i = 0; i < 5000; i++) { /* made and released again and again */
		assert_int_equal(report(sub), part);
		topo_retire(t, "opencl", 2);
		sub.record++;
	}
	assert_int_equal(topo_find_record(t, 4)->id, part);
}

/* A CPU device without a place is all packages; with one, it is a package. */
static void test_cpus(void **state)
{
	struct core_agent_report pocl = device(KYMO_AGENT_CPU, "opencl", 1, 0);
	struct core_agent_report hsa = device(KYMO_AGENT_CPU, "hsa", 1, 0);
	uint32_t all;

	pocl.platform = "PoCL";
	all = report(pocl);
	assert_int_equal(agent(all)->compute_units, 4);
	assert_int_equal(agent(all)->threads, 8);
	pocl.platform = "another";
	pocl.handle = 2;
	assert_int_equal(report(pocl), all);
	assert_int_equal(handles(all), 2);
	hsa.numa_node = 1;
	assert_int_equal(report(hsa), 2);
}

static void test_unknown_device(void **state)
{
	struct core_agent_report r = at("opencl", 1, 0x77);
	struct core_agent_report none = device(KYMO_AGENT_ACCELERATOR, "opencl", 2, 0);
	uint32_t id = report(r);

	assert_int_equal(agent(id)->pci->bus, 0x77);
	assert_string_equal(agent(id)->name, "as shown");
	r.domain = "cuda";
	assert_int_equal(report(r), id);
	none.name = NULL;
	assert_int_not_equal(report(none), id);
}

static void test_handle_limit(void **state)
{
	struct core_agent_report r = at("opencl", 0, 0x3b);
	uint32_t id = 0;

	for (unsigned i = 0; i < 64; i++) {
		r.handle = i + 1;
		id = report(r);
	}
	r.handle = 100;
	assert_int_equal(topo_report(t, &r, &id), KYMO_ERROR_LIMIT);
	assert_int_equal(handles(id), 64);
}

/* ---- the process's own machine ---- */

static kymo_status_t count_agent(const kymo_agent_t *a, void *data)
{
	++*(unsigned *)data;
	return KYMO_OK;
}

static kymo_status_t stop_at_once(const kymo_agent_t *a, void *data)
{
	return KYMO_ERROR_BUSY;
}

static void *ask(void *data)
{
	struct core_agent_report r = CORE_AGENT_REPORT_INIT;
	uintptr_t bad = 0;
	uint32_t id;

	for (unsigned i = 0; i < 200; i++) {
		unsigned n = 0;

		r.type = KYMO_AGENT_ACCELERATOR;
		r.domain = "test";
		r.handle = (uintptr_t)data;
		r.pci_domain = 0x1000 + (int64_t)(uintptr_t)data;
		bad += core_agent_report(&r, &id) != KYMO_OK;
		bad += kymo_agents(count_agent, &n) != KYMO_OK || n == 0;
	}
	return (void *)bad;
}

static void test_process(void **state)
{
	struct core_agent_report r = device(KYMO_AGENT_CPU, "test", 1, 5);
	const kymo_agent_t *a;
	pthread_t threads[4];
	unsigned n = 0;
	int status;
	uint32_t id;
	pid_t pid;
	void *bad;

	/* Kept until somebody asks. */
	assert_int_equal(core_agent_report(&r, NULL), KYMO_OK);
	r.handle = 2;
	r.record = 6;
	assert_int_equal(core_agent_report(&r, NULL), KYMO_OK);
	core_agent_retire("test", 2);
	/* Several look at the machine at once; one of them wins. */
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, ask, (void *)(i + 10));
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
	assert_int_equal(kymo_agent_find_record(5, &a), KYMO_OK);
	assert_string_equal(a->handles[0]->domain, "test");
	assert_null(a->handles[1]);
	assert_int_equal(kymo_agent_find_record(6, &a), KYMO_OK);
	assert_int_equal(kymo_agent_find_record(7, &a), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_agents(count_agent, &n), KYMO_OK);
	assert_int_equal(kymo_agents(stop_at_once, NULL), KYMO_ERROR_BUSY);
	assert_int_equal(kymo_agent_find(n, &a), KYMO_OK);
	assert_int_equal(kymo_agent_find(n + 1, &a), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_agent_find(0, &a), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_agents(NULL, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	r.domain = NULL;
	assert_int_equal(core_agent_report(&r, &id), KYMO_ERROR_INVALID_ARGUMENT);
	pid = fork();
	if (pid == 0) {
		r.domain = "test";
		r.handle = 3;
		_exit(kymo_agent_find_record(5, &a) == KYMO_OK &&
				      core_agent_report(&r, &id) == KYMO_OK && id == a->id
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
#define WITH_MACHINE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_MACHINE(test_one_device),
		WITH_MACHINE(test_amd_uuids),
		WITH_MACHINE(test_handle_reuse),
		WITH_MACHINE(test_mig),
		WITH_MACHINE(test_two_at_one_address),
		WITH_MACHINE(test_sub_devices),
		WITH_MACHINE(test_cpus),
		WITH_MACHINE(test_unknown_device),
		WITH_MACHINE(test_handle_limit),
		cmocka_unit_test(test_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
