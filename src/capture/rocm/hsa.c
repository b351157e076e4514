/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What HSA's calls do: memory, copies, queues, code, waits. Kernels are not calls in HSA (a packet
 * is written into a queue), so there are no dispatches of it. Where HIP uses HSA, its calls are the
 * ones that tell what the program wanted: what they do through HSA is not recorded again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/agent.h>

#include "base/locks.h"
#include "capture/rocm/work.h"

/* Attributes of queries that are of interest. */
enum {
	AGENT_NAME = 0,
	AGENT_VENDOR = 1,
	AGENT_TYPE = 17,
	AGENT_UNITS = 0xA002,
	AGENT_PCI = 0xA006,
	AGENT_PRODUCT = 0xA009,
	AGENT_PCI_DOMAIN = 0xA00F
};
enum { POOL_FLAGS = 1, POOL_LOCATION = 17 };
enum { SYMBOL_NAME_LENGTH = 1, SYMBOL_NAME_TEXT = 2, SYMBOL_KERNEL_OBJECT = 22 };
enum { POOL_ON_GPU = 1 };
#define NAME_MAX_LENGTH 4096u

/* ---- agents ---- */

#define AGENTS 64u

static struct rocm_agent agents[AGENTS];
static uint32_t agent_count;
static pthread_mutex_t agents_lock = PTHREAD_MUTEX_INITIALIZER;

static struct rocm_agent *agent_of(uint64_t handle)
{
	struct rocm_agent *a = NULL;
	uint32_t i = 0;

	if (!handle)
		return NULL;
	pthread_mutex_lock(&agents_lock);
	while (i < agent_count && agents[i].handle != handle)
		i++;
	if (i < AGENTS)
		a = &agents[i];
	if (a && i == agent_count) {
		a->domain = "hsa";
		a->handle = handle;
		a->ordinal = -1;
		snprintf(a->name, sizeof(a->name), "HSA agent %u", i);
		agent_count++;
	}
	pthread_mutex_unlock(&agents_lock);
	return a;
}

static uint32_t agent_id(uint64_t handle)
{
	struct rocm_agent *a = agent_of(handle);

	return a ? rocm_agent_id(a) : 0;
}

static void agent_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%.*s", (int)strnlen(text, 63), text);
}

/* hsa_agent_get_info: the program asked, and was answered. */
static void agent_told(const struct rocm_call *c)
{
	static const uint8_t types[] = {KYMO_AGENT_CPU, KYMO_AGENT_GPU, KYMO_AGENT_ACCELERATOR};
	const void *value = rocm_pointer(rocm_argument(c, ROCM_ADDRESS));
	struct rocm_agent *a = agent_of(rocm_argument(c, ROCM_DEVICE));
	uint32_t number;

	if (!a || !value)
		return;
	memcpy(&number, value, sizeof(number)); /* the smallest of them */
	switch ((uint32_t)rocm_argument(c, ROCM_KIND)) {
	case AGENT_NAME:
	case AGENT_PRODUCT:
		agent_text(a->name, sizeof(a->name), value);
		break;
	case AGENT_VENDOR:
		agent_text(a->vendor, sizeof(a->vendor), value);
		break;
	case AGENT_TYPE:
		a->type = number < 3 ? types[number] : 0;
		break;
	case AGENT_UNITS:
		a->compute_units = number;
		break;
	case AGENT_PCI:
		a->pci = true;
		a->pci_bus = (uint8_t)(number >> 8);
		a->pci_device = number >> 3 & 31;
		a->pci_function = number & 7;
		break;
	case AGENT_PCI_DOMAIN:
		a->pci_domain = number;
		break;
	default:
		return;
	}
	if (atomic_load(&a->id))
		rocm_agent_report(a);
}

/* ---- memory ---- */

static void pool_told(const struct rocm_call *c)
{
	const void *value = rocm_pointer(rocm_argument(c, ROCM_ADDRESS));
	struct rocm_object old,
		o = {.type = ROCM_HSA_POOL, .handle = rocm_argument(c, ROCM_OBJECT)};
	uint32_t number;

	if (!value || rocm_argument(c, ROCM_KIND) != POOL_LOCATION)
		return;
	memcpy(&number, value, sizeof(number));
	o.state = number == POOL_ON_GPU ? MEMORY_DEVICE : MEMORY_HOST_PINNED;
	rocm_keep(&o, true, &old);
}

static void allocated(const struct rocm_call *c)
{
	struct rocm_object pool = {.state = MEMORY_UNKNOWN};

	if (rocm_inside_hip(c->table))
		return;
	rocm_find(ROCM_HSA_POOL, rocm_argument(c, ROCM_OBJECT), 0, &pool);
	rocm_allocated(c->frame,
		       (struct cap_memory){.address = rocm_argument(c, ROCM_ADDRESS),
					   .bytes = rocm_bytes(c),
					   .kind = (uint8_t)pool.state,
					   .what = c->rule->traits.what,
					   .span = c->rule->traits.what == ALLOCATION_PHYSICAL});
}

static void pinned(const struct rocm_call *c)
{
	if (!rocm_inside_hip(c->table))
		rocm_allocated(c->frame,
			       (struct cap_memory){.address = rocm_argument(c, ROCM_ADDRESS),
						   .bytes = rocm_bytes(c),
						   .kind = MEMORY_HOST_PINNED,
						   .what = ALLOCATION_REGISTERED});
}

/* Also inside of HIP: an address that HIP's calls have not ended yet is none of HSA's. */
static void freed(const struct rocm_call *c)
{
	if (!rocm_inside_hip(c->table))
		rocm_freed(c->frame, rocm_argument(c, ROCM_ADDRESS));
}

/* ---- copies ---- */

static bool on_device(uint64_t agent, const struct cap_memory *m)
{
	const struct rocm_agent *a = agent_of(agent);

	if (a && a->type)
		return a->type != KYMO_AGENT_CPU;
	return m->kind == MEMORY_DEVICE || m->kind == MEMORY_MANAGED;
}

static void side(uint64_t address, uint64_t agent, struct cap_memory *m)
{
	const bool device = on_device(agent, (*m = rocm_memory_of(address), m));

	if (!m->id || m->kind == MEMORY_UNKNOWN)
		m->kind = device ? MEMORY_DEVICE : MEMORY_HOST_PAGEABLE;
	m->agent = device ? agent_id(agent) : 0;
}

static unsigned copy_op(const struct cap_memory *from, const struct cap_memory *to)
{
	const bool from_device = from->kind == MEMORY_DEVICE, to_device = to->kind == MEMORY_DEVICE;

	if (from_device == to_device)
		return COPY_OP_COPY;
	return to_device ? COPY_OP_WRITE : COPY_OP_READ;
}

static void copied(const struct rocm_call *c, uint64_t source, uint64_t source_agent,
		   uint64_t destination, uint64_t destination_agent, uint64_t bytes)
{
	const bool waits = (c->rule->traits.flags & ROCM_WAITS) != 0;
	struct cap_memory from, to;

	if (rocm_inside_hip(c->table))
		return;
	side(source, source_agent, &from);
	side(destination, destination_agent, &to);
	rocm_record_copy(c->frame, &(struct rocm_copy){.op = copy_op(&from, &to),
						       .source_agent = from.agent,
						       .destination_agent = to.agent,
						       .source_kind = from.kind,
						       .destination_kind = to.kind,
						       .source = from.id,
						       .destination = to.id,
						       .bytes = bytes,
						       .blocking = waits});
	if (waits)
		cap_sync_record(c->frame, 0, SYNC_OP_BLOCKING, 0, 0, NULL);
}

static void copy(const struct rocm_call *c)
{
	copied(c, rocm_argument(c, ROCM_SOURCE), rocm_argument(c, ROCM_SOURCE_DEVICE),
	       rocm_argument(c, ROCM_ADDRESS), rocm_argument(c, ROCM_DEVICE), rocm_bytes(c));
}

/* hsa_pitched_ptr_t of both sides, hsa_dim3_t of the bytes of a row, rows, slices. */
static void copy_rectangle(const struct rocm_call *c)
{
	const uint64_t *to = rocm_pointer(rocm_argument(c, ROCM_ADDRESS));
	const uint64_t *from = rocm_pointer(rocm_argument(c, ROCM_SOURCE));
	const uint32_t *range = rocm_pointer(rocm_argument(c, ROCM_BYTES));
	const uint32_t direction = (uint32_t)rocm_argument(c, ROCM_KIND);
	const uint64_t agent = rocm_argument(c, ROCM_DEVICE);

	copied(c, from[0], direction & 2 ? agent : 0, to[0], direction & 1 ? agent : 0,
	       (uint64_t)range[0] * range[1] * range[2]);
}

static void fill(const struct rocm_call *c)
{
	struct cap_memory to;

	if (rocm_inside_hip(c->table))
		return;
	to = rocm_memory_of(rocm_argument(c, ROCM_ADDRESS));
	rocm_record_copy(c->frame, &(struct rocm_copy){.op = COPY_OP_FILL,
						       .destination_agent = to.agent,
						       .destination_kind = to.kind,
						       .destination = to.id,
						       .bytes = rocm_bytes(c),
						       .blocking = true});
}

static void waited(const struct rocm_call *c)
{
	if (!rocm_inside_hip(c->table))
		cap_sync_record(c->frame, 0, SYNC_OP_EVENTS, 0,
				rocm_has(c, ROCM_BYTES) ? (uint32_t)rocm_bytes(c) : 1,
				rocm_pointer(rocm_argument(c, ROCM_OBJECT)));
}

/* ---- queues ---- */

static void queue_created(const struct rocm_call *c)
{
	struct rocm_object old,
		o = {.type = ROCM_HSA_QUEUE, .handle = rocm_argument(c, ROCM_OBJECT)};

	if (!o.handle || rocm_inside_hip(c->table))
		return;
	o.agent = agent_id(rocm_argument(c, ROCM_DEVICE));
	o.id = rocm_define_queue("hsa", o.handle, o.agent, "");
	rocm_keep(&o, true, &old);
	if (old.id)
		cap_define_end(DEF_QUEUE, old.id);
}

static void queue_destroyed(const struct rocm_call *c)
{
	struct rocm_object o;

	if (rocm_forget(ROCM_HSA_QUEUE, rocm_argument(c, ROCM_OBJECT), 0, &o))
		cap_define_end(DEF_QUEUE, o.id);
}

/* ---- code ---- */

static uint32_t program_of(uint64_t executable)
{
	struct rocm_object o = {0};

	rocm_find(ROCM_HSA_PROGRAM, executable, 0, &o);
	return o.id;
}

static void code_loaded(const struct rocm_call *c)
{
	struct rocm_object old,
		o = {.type = ROCM_HSA_PROGRAM, .handle = rocm_argument(c, ROCM_OBJECT)};

	if (rocm_inside_hip(c->table) || program_of(o.handle))
		return; /* HIP's, or code for one more agent */
	o.id = rocm_define_program("hsa", o.handle, "binary");
	rocm_keep(&o, false, &old);
}

/* A symbol's `state` is its name, kept here until the executable is gone; never freed sooner. */
static void symbol_keep(uint64_t symbol, uint32_t program, char *name)
{
	struct rocm_object old, o = {.type = ROCM_HSA_SYMBOL,
				     .handle = symbol,
				     .owner = program,
				     .state = (uintptr_t)name};

	if (!name)
		return;
	if (rocm_find(ROCM_HSA_SYMBOL, symbol, 0, &old) && old.id) {
		free(name); /* a kernel already */
		return;
	}
	rocm_keep(&o, true, &old);
	free((char *)(uintptr_t)old.state);
}

static void symbol_found(const struct rocm_call *c)
{
	const char *name = rocm_pointer(rocm_argument(c, ROCM_NAME));

	if (name && !rocm_inside_hip(c->table))
		symbol_keep(rocm_argument(c, ROCM_ADDRESS),
			    program_of(rocm_argument(c, ROCM_OBJECT)),
			    strndup(name, NAME_MAX_LENGTH));
}

/* The last length that this thread asked for, and of what. */
static _Thread_local struct {
	uint64_t symbol;
	uint32_t length;
} asked __attribute__((tls_model("initial-exec")));

static void kernel_found(uint64_t symbol, uint64_t kernel)
{
	struct rocm_object o;
	struct rocm_object old;

	if (!rocm_find(ROCM_HSA_SYMBOL, symbol, 0, &o) || o.id)
		return;
	o.id = rocm_define_kernel("hsa", kernel, rocm_pointer(o.state), o.owner);
	free((char *)(uintptr_t)o.state);
	o.state = 0;
	rocm_keep(&o, true, &old);
}

/* hsa_executable_symbol_get_info: names are not terminated, their length is another question. */
static void symbol_told(const struct rocm_call *c)
{
	const void *value = rocm_pointer(rocm_argument(c, ROCM_ADDRESS));
	const uint64_t symbol = rocm_argument(c, ROCM_OBJECT);
	uint64_t kernel;

	if (!value || rocm_inside_hip(c->table))
		return;
	switch ((uint32_t)rocm_argument(c, ROCM_KIND)) {
	case SYMBOL_NAME_LENGTH:
		asked.symbol = symbol;
		memcpy(&asked.length, value, sizeof(asked.length));
		break;
	case SYMBOL_NAME_TEXT:
		if (asked.symbol == symbol && asked.length < NAME_MAX_LENGTH &&
		    !rocm_find(ROCM_HSA_SYMBOL, symbol, 0, &(struct rocm_object){0}))
			symbol_keep(symbol, 0, strndup(value, asked.length));
		break;
	case SYMBOL_KERNEL_OBJECT:
		memcpy(&kernel, value, sizeof(kernel));
		kernel_found(symbol, kernel);
		break;
	default:
		break;
	}
}

static void code_unloaded(const struct rocm_call *c)
{
	struct rocm_object o;

	if (rocm_forget(ROCM_HSA_PROGRAM, rocm_argument(c, ROCM_OBJECT), 0, &o))
		rocm_program_end(o.id, ROCM_HSA_SYMBOL);
}

/* ---- rules ---- */

#define RULE(op_, run_, activities_, flags_, ...)                                                  \
	rocm_rule_add(r, #op_, run_,                                                               \
		      (struct rocm_traits){.activities = activities_, .flags = flags_},            \
		      __VA_ARGS__, ROCM_ROLES)
#define ALLOCATE(op_, what_, pool, address)                                                        \
	rocm_rule_add(r, #op_, allocated, (struct rocm_traits){.what = ALLOCATION_##what_},        \
		      ROCM_OBJECT, pool, ROCM_ADDRESS, address, ROCM_BYTES, "size", ROCM_ROLES)
#define FREE(op_, address) RULE(op_, freed, 0, 0, ROCM_ADDRESS, address)
#define COPIES             (CAP_ACTIVITY_COPY | CAP_ACTIVITY_SYNC)
#define ASYNC_COPY                                                                                 \
	ROCM_ADDRESS, "dst", ROCM_DEVICE, "dst_agent", ROCM_SOURCE, "src", ROCM_SOURCE_DEVICE,     \
		"src_agent", ROCM_BYTES, "size"

static void rules_add(struct rocm_rules *r)
{
	RULE(hsa_agent_get_info, agent_told, 0, 0, ROCM_DEVICE, "agent", ROCM_KIND, "attribute",
	     ROCM_ADDRESS, "value");
	RULE(hsa_amd_memory_pool_get_info, pool_told, 0, 0, ROCM_OBJECT, "memory_pool", ROCM_KIND,
	     "attribute", ROCM_ADDRESS, "value");
	ALLOCATE(hsa_amd_memory_pool_allocate, BUFFER, "memory_pool", "ptr");
	ALLOCATE(hsa_memory_allocate, BUFFER, "region", "ptr");
	ALLOCATE(hsa_amd_vmem_handle_create, PHYSICAL, "pool", "memory_handle");
	FREE(hsa_amd_memory_pool_free, "ptr");
	FREE(hsa_memory_free, "ptr");
	FREE(hsa_amd_vmem_handle_release, "memory_handle");
	RULE(hsa_amd_memory_lock, pinned, 0, 0, ROCM_ADDRESS, "host_ptr", ROCM_BYTES, "size");
	RULE(hsa_amd_memory_lock_to_pool, pinned, 0, 0, ROCM_ADDRESS, "host_ptr", ROCM_BYTES,
	     "size");
	FREE(hsa_amd_memory_unlock, "host_ptr");
	RULE(hsa_amd_memory_async_copy, copy, COPIES, 0, ASYNC_COPY);
	RULE(hsa_amd_memory_async_copy_on_engine, copy, COPIES, 0, ASYNC_COPY);
	RULE(hsa_amd_memory_async_copy_rect, copy_rectangle, COPIES, 0, ROCM_ADDRESS, "dst",
	     ROCM_SOURCE, "src", ROCM_BYTES, "range", ROCM_DEVICE, "copy_agent", ROCM_KIND, "dir");
	RULE(hsa_memory_copy, copy, COPIES, ROCM_WAITS, ROCM_ADDRESS, "dst", ROCM_SOURCE, "src",
	     ROCM_BYTES, "size");
	rocm_rule_add(r, "hsa_amd_memory_fill", fill,
		      (struct rocm_traits){.activities = CAP_ACTIVITY_COPY, .unit = 4},
		      ROCM_ADDRESS, "ptr", ROCM_BYTES, "count", ROCM_ROLES);
	RULE(hsa_signal_wait_relaxed, waited, CAP_ACTIVITY_SYNC, 0, ROCM_OBJECT, "signal");
	RULE(hsa_signal_wait_scacquire, waited, CAP_ACTIVITY_SYNC, 0, ROCM_OBJECT, "signal");
	RULE(hsa_amd_signal_wait_any, waited, CAP_ACTIVITY_SYNC, 0, ROCM_BYTES, "signal_count");
	RULE(hsa_queue_create, queue_created, 0, 0, ROCM_DEVICE, "agent", ROCM_OBJECT, "queue");
	RULE(hsa_queue_destroy, queue_destroyed, 0, 0, ROCM_OBJECT, "queue");
	RULE(hsa_executable_load_agent_code_object, code_loaded, 0, 0, ROCM_OBJECT, "executable");
	RULE(hsa_executable_load_code_object, code_loaded, 0, 0, ROCM_OBJECT, "executable");
	RULE(hsa_executable_destroy, code_unloaded, 0, 0, ROCM_OBJECT, "executable");
	RULE(hsa_executable_get_symbol_by_name, symbol_found, 0, 0, ROCM_OBJECT, "executable",
	     ROCM_NAME, "symbol_name", ROCM_ADDRESS, "symbol");
	RULE(hsa_executable_get_symbol, symbol_found, 0, 0, ROCM_OBJECT, "executable", ROCM_NAME,
	     "symbol_name", ROCM_ADDRESS, "symbol");
	RULE(hsa_executable_symbol_get_info, symbol_told, 0, 0, ROCM_OBJECT, "executable_symbol",
	     ROCM_KIND, "attribute", ROCM_ADDRESS, "value");
}

ROCM_RULES(hsa_rules, 32, 512);

static void after_hsa(const struct table_call *call)
{
	rocm_run(&hsa_rules, call);
}

static bool hsa_needed(const char *op)
{
	return rocm_rule_needed(&hsa_rules, op);
}

static void before_fork(void) ACQUIRES(agents_lock)
{
	pthread_mutex_lock(&agents_lock);
}

static void after_fork(void) RELEASES(agents_lock)
{
	pthread_mutex_unlock(&agents_lock);
}

void rocm_hsa_prepare(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
	rocm_model_hsa.needed = hsa_needed;
	rules_add(&hsa_rules);
	if (!rocm_rules_apply(&hsa_rules, &rocm_model_hsa, after_hsa))
		cap_note(2, "rocm", "what some of HSA's calls do is not known");
}
