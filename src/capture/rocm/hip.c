/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What HIP's calls do: memory, copies, kernels, waits, streams, modules, devices. The current device
 * is followed for each thread from the calls that change it.
 */
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <kymo/agent.h>

#include "capture/rocm/hip.h"

#define DEVICES  64u
#define CONTEXTS 16u /* pushed at one time by a thread */

enum { HIP_STREAM_LEGACY = 1, HIP_STREAM_PER_THREAD = 2 }; /* handles with a meaning */

/* ---- devices ---- */

static struct rocm_agent agents[DEVICES];

static _Thread_local struct {
	int32_t device;
	uint32_t pushed;
	int32_t below[CONTEXTS];
} current __attribute__((tls_model("initial-exec")));

uint32_t hip_agent(int64_t device)
{
	if (device < 0 || device >= DEVICES)
		return 0;
	return rocm_agent_id(&agents[device]);
}

int32_t hip_device(void)
{
	return current.device;
}

static struct rocm_agent *device_of(const struct rocm_call *c)
{
	const int32_t device = (int32_t)rocm_argument(c, ROCM_DEVICE);

	return device >= 0 && device < (int32_t)DEVICES ? &agents[device] : NULL;
}

void hip_set_device(const struct rocm_call *c)
{
	current.device = (int32_t)rocm_argument(c, ROCM_DEVICE);
}

/* What a device is called, and more; kept in case it is used. */
void hip_device_properties(const struct rocm_call *c)
{
	const char *p = rocm_pointer(rocm_argument(c, ROCM_ADDRESS));
	struct rocm_agent *a = device_of(c);
	int32_t units;

	if (!p || !a)
		return;
	snprintf(a->name, sizeof(a->name), "%.*s", (int)sizeof(a->name) - 1, p);
	/* After the name of 256 bytes: the older layout goes on with the memory's size. */
	memcpy(&a->memory, p + (c->rule->traits.detail ? 288 : 256), sizeof(a->memory));
	if (c->rule->traits.detail) {
		memcpy(&units, p + 388, sizeof(units));
		a->compute_units = (uint32_t)units;
	}
	if (atomic_load(&a->id))
		rocm_agent_report(a);
}

void hip_device_name(const struct rocm_call *c)
{
	const char *name = rocm_pointer(rocm_argument(c, ROCM_ADDRESS));
	const int32_t room = (int32_t)rocm_argument(c, ROCM_BYTES);
	struct rocm_agent *a = device_of(c);

	if (name && a && room > 0 && strnlen(name, (size_t)room) < (size_t)room)
		snprintf(a->name, sizeof(a->name), "%.*s", (int)sizeof(a->name) - 1, name);
}

void hip_device_pci(const struct rocm_call *c)
{
	const char *text = rocm_pointer(rocm_argument(c, ROCM_ADDRESS));
	struct rocm_agent *a = device_of(c);
	unsigned domain, bus, device, function;

	if (!text || !a || (int32_t)rocm_argument(c, ROCM_BYTES) < 13 ||
	    sscanf(text, "%4x:%2x:%2x.%1x", &domain, &bus, &device, &function) != 4)
		return;
	a->pci = true;
	a->pci_domain = domain;
	a->pci_bus = (uint8_t)bus;
	a->pci_device = (uint8_t)device;
	a->pci_function = (uint8_t)function;
	if (atomic_load(&a->id))
		rocm_agent_report(a);
}

/* ---- HIP's contexts: each is of a device ---- */

void hip_context_created(const struct rocm_call *c)
{
	struct rocm_object old, o = {.type = ROCM_CONTEXT,
				     .handle = rocm_argument(c, ROCM_OBJECT),
				     .agent = (uint32_t)rocm_argument(c, ROCM_DEVICE)};

	rocm_keep(&o, true, &old);
	if (c->rule->traits.detail) /* created, and made current */
		current.device = (int32_t)o.agent;
}

void hip_context_set(const struct rocm_call *c)
{
	struct rocm_object o = {.agent = (uint32_t)current.device};

	rocm_find(ROCM_CONTEXT, rocm_argument(c, ROCM_OBJECT), 0, &o);
	if (c->rule->traits.detail && current.pushed < CONTEXTS)
		current.below[current.pushed++] = current.device;
	current.device = (int32_t)o.agent;
}

void hip_context_pop(const struct rocm_call *c)
{
	if (current.pushed)
		current.device = current.below[--current.pushed];
}

/* ---- streams ---- */

/* The streams that are not created: the device's own, and its one for each thread. */
static struct rocm_object stream_given(uint64_t handle)
{
	const struct cap_thread *t = cap_thread_current;
	const uint32_t device = (uint32_t)current.device;
	struct rocm_object old, o = {.type = ROCM_QUEUE, .handle = handle, .extra = device + 1};

	if (handle == HIP_STREAM_PER_THREAD && t)
		o.extra += (t->index + 1) * DEVICES;
	if (rocm_find(ROCM_QUEUE, handle, o.extra, &o))
		return o;
	o.agent = hip_agent(current.device);
	o.id = rocm_define_queue("hip", handle, o.agent,
				 handle ? "stream of a thread" : "default stream");
	rocm_keep(&o, false, &old);
	return o;
}

struct rocm_object hip_stream(const struct rocm_call *c)
{
	uint64_t handle = rocm_argument(c, ROCM_STREAM);
	struct rocm_object old, o = {.type = ROCM_QUEUE, .handle = handle};

	if (handle == 0 && c->rule->traits.flags & ROCM_THREAD_STREAM)
		handle = HIP_STREAM_PER_THREAD;
	if (handle <= HIP_STREAM_PER_THREAD)
		return stream_given(handle == HIP_STREAM_LEGACY ? 0 : handle);
	if (rocm_find(ROCM_QUEUE, handle, 0, &o))
		return o;
	o.agent = hip_agent(current.device); /* its creation was not seen */
	o.id = rocm_define_queue("hip", handle, o.agent, "");
	rocm_keep(&o, false, &old);
	return o;
}

void hip_stream_created(const struct rocm_call *c)
{
	struct rocm_object old, o = {.type = ROCM_QUEUE, .handle = rocm_argument(c, ROCM_STREAM)};

	if (!o.handle)
		return;
	o.agent = hip_agent(current.device);
	o.id = rocm_define_queue("hip", o.handle, o.agent, "");
	rocm_keep(&o, true, &old);
	if (old.id)
		cap_define_end(DEF_QUEUE, old.id);
}

void hip_stream_destroyed(const struct rocm_call *c)
{
	struct rocm_object o;

	if (rocm_forget(ROCM_QUEUE, rocm_argument(c, ROCM_STREAM), 0, &o))
		cap_define_end(DEF_QUEUE, o.id);
}

/* ---- capture: what goes into a graph does not run now ---- */

/* `state` of streams, and of events recorded there: the handle of the stream capture began in. */
static void set_capture(struct rocm_object o, uint64_t root)
{
	struct rocm_object old;

	if (o.state == root)
		return;
	o.state = root;
	rocm_keep(&o, true, &old);
}

void hip_capture_begin(const struct rocm_call *c)
{
	struct rocm_object o = hip_stream(c);

	set_capture(o, o.handle ? o.handle : 1);
}

static void release(const struct rocm_object *o, void *data)
{
	if (o->state == *(const uint64_t *)data)
		set_capture(*o, 0);
}

void hip_capture_end(const struct rocm_call *c)
{
	uint64_t root = hip_stream(c).state;

	if (!root)
		return;
	rocm_each(ROCM_QUEUE, release, &root);
	rocm_each(ROCM_EVENT, release, &root);
}

/* ---- waits ---- */

void hip_wait(const struct rocm_call *c)
{
	const uint64_t event = rocm_argument(c, ROCM_OBJECT);
	const uint32_t queue = rocm_has(c, ROCM_STREAM) ? hip_stream(c).id : 0;

	cap_sync_record(c->frame, 0, c->rule->traits.detail, queue, event != 0,
			rocm_pointer(event));
}

void hip_event_recorded(const struct rocm_call *c)
{
	const struct rocm_object s = hip_stream(c);
	struct rocm_object old,
		e = {.type = ROCM_EVENT, .handle = rocm_argument(c, ROCM_OBJECT), .state = s.state};

	if (s.state)
		rocm_keep(&e, true, &old);
	else
		rocm_forget(ROCM_EVENT, e.handle, 0, &old);
	if (!s.state)
		cap_sync_record(c->frame, 0, SYNC_OP_EVENT_RECORD, s.id, 1, rocm_pointer(e.handle));
}

void hip_stream_waits(const struct rocm_call *c)
{
	const struct rocm_object s = hip_stream(c);
	struct rocm_object e = {0};
	const uint64_t event = rocm_argument(c, ROCM_OBJECT);

	if (rocm_find(ROCM_EVENT, event, 0, &e) && e.state)
		set_capture(s, e.state);
	else if (!s.state)
		cap_sync_record(c->frame, 0, SYNC_OP_BARRIER, s.id, 1, rocm_pointer(event));
}

/* ---- programs and kernels ---- */

void hip_program_loaded(const struct rocm_call *c)
{
	struct rocm_object old, o = {.type = ROCM_PROGRAM, .handle = rocm_argument(c, ROCM_OBJECT)};

	if (!o.handle)
		return;
	o.id = rocm_define_program("hip", o.handle, "binary");
	rocm_keep(&o, true, &old);
	if (old.id)
		rocm_program_end(old.id, ROCM_KERNEL);
}

void hip_program_unloaded(const struct rocm_call *c)
{
	struct rocm_object o;

	if (rocm_forget(ROCM_PROGRAM, rocm_argument(c, ROCM_OBJECT), 0, &o))
		rocm_program_end(o.id, ROCM_KERNEL);
}

/* A function of a program: a kernel's handle and name. */
void hip_kernel_loaded(const struct rocm_call *c)
{
	const char *name = rocm_pointer(rocm_argument(c, ROCM_NAME));
	struct rocm_object program = {0}, old;
	struct rocm_object o = {.type = ROCM_KERNEL, .handle = rocm_argument(c, ROCM_OBJECT)};

	if (!o.handle || !name)
		return;
	rocm_find(ROCM_PROGRAM, rocm_argument(c, ROCM_SOURCE), 0, &program);
	o.owner = program.id;
	if (rocm_find(ROCM_KERNEL, o.handle, 0, &old) && old.owner == o.owner)
		return; /* asked for again */
	o.id = rocm_define_kernel("hip", o.handle, name, program.id);
	rocm_keep(&o, true, &old);
	if (old.id)
		cap_define_end(DEF_KERNEL, old.id);
}

/* Another handle of a kernel that is known by the address of its host function. */
void hip_kernel_symbol(const struct rocm_call *c)
{
	struct rocm_object o, old;

	if (!rocm_find(ROCM_KERNEL, rocm_argument(c, ROCM_SOURCE), 0, &o))
		return;
	o.handle = rocm_argument(c, ROCM_OBJECT);
	rocm_keep(&o, true, &old);
}

uint32_t hip_kernel(uint64_t handle)
{
	struct rocm_object old, o = {.type = ROCM_KERNEL, .handle = handle};
	char name[32];

	if (rocm_find(ROCM_KERNEL, handle, 0, &o))
		return o.id;
	snprintf(name, sizeof(name), "kernel at %#llx", (unsigned long long)handle);
	o.id = rocm_define_kernel("hip", handle, name, 0);
	rocm_keep(&o, false, &old);
	return o.id;
}

uint32_t hip_graph_kernel(void)
{
	struct rocm_object old, o = {.type = ROCM_KERNEL, .extra = 1};

	if (rocm_find(ROCM_KERNEL, 0, 1, &o))
		return o.id;
	o.id = rocm_define_kernel("hip", 0, "(HIP graph)", 0);
	rocm_keep(&o, false, &old);
	return o.id;
}

/* ---- HIP beside HSA ---- */

#define LIBRARIES 4u

static struct {
	uintptr_t start, end;
} libraries[LIBRARIES];
static _Atomic uint32_t library_count;
static _Atomic uint32_t hip_domain; /* its index in core and 1, or 0 */

struct search {
	uintptr_t address, start, end;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	uintptr_t start = UINTPTR_MAX, end = 0;
	bool inside = false;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		inside |= s->address - from < p->p_memsz;
		start = from < start ? from : start;
		end = from + p->p_memsz > end ? from + p->p_memsz : end;
	}
	if (inside) {
		s->start = start;
		s->end = end;
	}
	return inside;
}

/* A slot of the table tells. */
static void learn_domain(const struct table_part *p)
{
	for (uint32_t i = 0; i < TABLE_SLOTS; i++) {
		const struct table_slot *s = &table_slots[i];

		if (s->place >= p->entries && s->place < p->entries + p->count && s->cap) {
			atomic_store(&hip_domain, s->cap->domain + 1u);
			return;
		}
	}
}

/* As runtimes say it: 10000 * major + 100 * minor + patch. */
#define VERSION_6 60000u
static _Atomic bool before_6;

bool hip_before_6(void)
{
	return atomic_load_explicit(&before_6, memory_order_relaxed);
}

void rocm_hip_taken(const struct table_part *p, const void *table)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct search s = {.address = (uintptr_t)table};
	uint32_t n;

	learn_domain(p);
	atomic_store(&before_6, p->version && p->version < VERSION_6);
	if (!dl_iterate_phdr(look_at, &s))
		return;
	pthread_mutex_lock(&lock);
	n = atomic_load(&library_count);
	if (n < LIBRARIES) {
		libraries[n].start = s.start;
		libraries[n].end = s.end;
		atomic_store(&library_count, n + 1);
	}
	pthread_mutex_unlock(&lock);
}

static bool called_by_hip(uintptr_t caller)
{
	const uint32_t n = atomic_load(&library_count);

	for (uint32_t i = 0; i < n; i++)
		if (caller >= libraries[i].start && caller < libraries[i].end)
			return true;
	return false;
}

bool rocm_inside_hip(const struct table_call *call)
{
	const uint32_t domain = atomic_load(&hip_domain);
	const struct cap_thread *t = cap_thread_current;

	if (!domain)
		return false;
	if (called_by_hip((uintptr_t)call->caller))
		return true;
	if (!t || t->magic != CAP_THREAD_MAGIC)
		return false;
	for (const struct cap_frame *f = call->frame; f > t->frames;) {
		f--;
		if (f->op->domain + 1u == domain)
			return true;
	}
	return false;
}

/* ---- preparation ---- */

void hip_agents_prepare(void)
{
	for (uint32_t i = 0; i < DEVICES; i++) {
		agents[i].domain = "hip";
		agents[i].handle = i;
		agents[i].ordinal = i;
		agents[i].type = KYMO_AGENT_GPU;
		snprintf(agents[i].name, sizeof(agents[i].name), "HIP device %u", i);
		snprintf(agents[i].vendor, sizeof(agents[i].vendor), "AMD");
	}
}
