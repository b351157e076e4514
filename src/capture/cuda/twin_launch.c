/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the driver that concern twins: code that is loaded, memory that is allocated, launches that are chosen. A chosen
 * launch waits at its entry while its twin runs; other threads put nothing into streams meanwhile (core/counter/kernel.h).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture/cuda/profile.h"
#include "capture/cuda/twin.h"
#include "core/counter/accesses.h"
#include "core/process/life.h"
#include "record/fields.h"

struct cuda_twin_driver cuda_driver;

static enum cuda_twin_role *roles; /* by op */
static _Atomic unsigned captures;  /* of streams, under way */
static _Thread_local bool own;     /* it works on a twin */
static _Thread_local struct {
	bool entered, open;
	uint32_t correlation;
} gate; /* of the call that this thread is in */

/* ---- notes ---- */

#define TOLD 256u

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
static struct told {
	const char *text;
	uint64_t launches;
	int severity;
} told[TOLD];

struct kept_text {
	struct kept_text *next;
	char text[];
};
static struct kept_text *texts;

const char *cuda_twin_text(const char *text)
{
	struct kept_text *t;

	pthread_mutex_lock(&telling);
	for (t = texts; t && strcmp(t->text, text) != 0; t = t->next)
		;
	if (!t) {
		t = malloc(sizeof(*t) + strlen(text) + 1);
		if (t) {
			strcpy(t->text, text);
			t->next = texts;
			texts = t;
		}
	}
	pthread_mutex_unlock(&telling);
	return t ? t->text : "there was no memory to say why";
}

const char *cuda_twin_error(const char *what, int result)
{
	const char *name = NULL, *why;
	struct text t = {0};

	if (cuda_driver.GetErrorName(result, &name) != 0 || !name)
		name = "unknown error";
	text_addf(&t, "%s (%s, %d)", what, name, result);
	why = cuda_twin_text(t.s ? t.s : what);
	text_release(&t);
	return why;
}

static void tell(int severity, const char *text)
{
	const char *kept = cuda_twin_text(text);
	uint32_t i = 0;

	pthread_mutex_lock(&telling);
	while (i < TOLD - 1 && told[i].text && told[i].text != kept)
		i++;
	if (!told[i].text)
		told[i] = (struct told){kept, 0, severity};
	told[i].launches++;
	pthread_mutex_unlock(&telling);
}

static void tell_of(const char *kernel, const char *what, const char *why)
{
	struct text t = {0};

	text_addf(&t, "launches of %s %s: %s", kernel, what, why);
	tell(2, t.s ? t.s : why);
	text_release(&t);
}

void cuda_twin_tell(void)
{
	pthread_mutex_lock(&telling);
	for (uint32_t i = 0; i < TOLD && told[i].text; i++)
		cap_note_count(told[i].severity, "instrument", told[i].text, told[i].launches);
	memset(told, 0, sizeof(told));
	pthread_mutex_unlock(&telling);
}

/* ---- the driver ---- */

static bool symbol(void *library, const char *name, void *out)
{
	void *at = dlsym(library, name);

	memcpy(out, &at, sizeof(at));
	return at != NULL;
}

static bool driver_ready(void)
{
	static _Atomic int state; /* 1: there, 2: not */
	void *library;
	bool ok = true;

	if (atomic_load(&state))
		return atomic_load(&state) == 1;
	library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		library = RTLD_DEFAULT;
#define FUNCTION(name, text, args) ok &= symbol(library, text, &cuda_driver.name);
	CUDA_TWIN_DRIVER(FUNCTION)
#undef FUNCTION
#define FUNCTION(name, text, args) symbol(library, text, &cuda_driver.name);
	CUDA_TWIN_DRIVER_LATER(FUNCTION)
#undef FUNCTION
	atomic_store(&state, ok ? 1 : 2);
	return ok;
}

/* ---- roles ---- */

static const struct {
	const char *name;
	bool whole; /* with what versions add alone; else it begins so */
	enum cuda_twin_role role;
} names[] = {
	{"cuLaunchKernelEx", true, CUDA_TWIN_LAUNCH_EX},
	{"cuLaunchKernel", true, CUDA_TWIN_LAUNCH},
	{"cuLaunchCooperativeKernel", false, CUDA_TWIN_COOPERATIVE},
	{"cuGraphLaunch", true, CUDA_TWIN_GRAPH},
	{"cuStreamBeginCapture", false, CUDA_TWIN_CAPTURE},
	{"cuStreamEndCapture", false, CUDA_TWIN_CAPTURED},
	{"cuModuleLoadData", true, CUDA_TWIN_LOAD},
	{"cuModuleLoadDataEx", true, CUDA_TWIN_LOAD},
	{"cuModuleLoadFatBinary", true, CUDA_TWIN_LOAD},
	{"cuLibraryLoadData", true, CUDA_TWIN_LOAD},
	{"cuModuleLoad", true, CUDA_TWIN_LOAD_FILE},
	{"cuLibraryLoadFromFile", true, CUDA_TWIN_LOAD_FILE},
	{"cuModuleUnload", true, CUDA_TWIN_UNLOAD},
	{"cuLibraryUnload", true, CUDA_TWIN_UNLOAD},
	{"cuMemCreate", true, CUDA_TWIN_NONE}, /* it has no address yet */
	{"cuMemMap", true, CUDA_TWIN_MAP},
	{"cuMemUnmap", true, CUDA_TWIN_UNMAP},
};

/* "cuMemAlloc_v2_ptsz" is "cuMemAlloc". */
static bool is_named(const char *name, const char *as, bool whole)
{
	const size_t n = strlen(as);

	return strncmp(name, as, n) == 0 &&
	       (!whole || !name[n] || strncmp(name + n, "_v", 2) == 0 ||
		strncmp(name + n, "_pt", 3) == 0);
}

static enum cuda_twin_role role_of(uint32_t op)
{
	const struct cuda_model *m = &cuda_models[CUDA_DRIVER];
	const struct cuda_role *r = &m->roles[op];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_named(m->desc->ops[op].name, names[i].name, names[i].whole))
			return names[i].role;
	if ((r->role == CUDA_ROLE_ALLOCATE || r->role == CUDA_ROLE_ALLOCATE_PITCH) &&
	    (r->kind == MEMORY_DEVICE || r->kind == MEMORY_MANAGED))
		return CUDA_TWIN_ALLOCATE;
	if (r->role == CUDA_ROLE_FREE)
		return CUDA_TWIN_FREE;
	return m->desc->ops[op].flags & KYMO_OP_SUBMITS ? CUDA_TWIN_SUBMIT : CUDA_TWIN_NONE;
}

enum cuda_twin_role cuda_twin_role(uint32_t op)
{
	const uint32_t count = cuda_models[CUDA_DRIVER].desc->op_count;

	if (!roles) { /* with the first who wants calls, one at a time */
		enum cuda_twin_role *all = calloc(count, sizeof(*all));

		for (uint32_t i = 0; all && i < count; i++)
			all[i] = role_of(i);
		roles = all;
	}
	return roles ? roles[op] : CUDA_TWIN_NONE;
}

/* The one place that says when lines come of twins and not of CUPTI, which counts instructions but tells no addresses. */
static bool twins_count(uint32_t device)
{
	return cap_accesses_wanted() || !cuda_sass_counts(device);
}

bool cuda_twin_own(int domain, uint32_t cbid, const struct cupti_callback *data)
{
	uint32_t op;

	if (!own)
		return false;
	if (data->site == CUPTI_ENTER && domain == CUPTI_DRIVER &&
	    cuda_op_of(CUDA_DRIVER, cbid, &op) &&
	    (cuda_models[CUDA_DRIVER].desc->ops[op].flags & KYMO_OP_SUBMITS))
		cuda_submission_none(data->correlation);
	return true;
}

/* ---- code and memory ---- */

static const void *pointer(const void *params, unsigned n)
{
	const void *p;

	memcpy(&p, (const char *)params + n * sizeof(p), sizeof(p));
	return p;
}

static void loaded(uint32_t op, const struct cupti_callback *data, bool file)
{
	const char *name = cuda_models[CUDA_DRIVER].desc->ops[op].name;
	void *const *handle = pointer(data->params, 0);

	if (handle)
		cuda_image_loaded(*handle, strncmp(name, "cuLibrary", 9) == 0,
				  pointer(data->params, 1), file);
}

static uint64_t argument(const void *params, uint16_t offset, bool after)
{
	const void *at = (const char *)params + offset - 1;
	uint64_t v;

	if (!offset)
		return 0;
	memcpy(&v, at, sizeof(v));
	if (after && v)
		memcpy(&v, (const void *)(uintptr_t)v, sizeof(v));
	return v;
}

static void allocated(uint32_t op, const struct cupti_callback *data)
{
	const struct cuda_role *r = &cuda_models[CUDA_DRIVER].roles[op];
	uint64_t bytes = argument(data->params, r->bytes, r->after_bytes);

	if (r->narrow)
		return;
	if (r->role == CUDA_ROLE_ALLOCATE_PITCH)
		bytes *= argument(data->params, r->rows, false);
	cuda_twin_allocated(data->context, argument(data->params, r->object, r->after_object),
			    bytes);
}

static void freed(uint32_t op, const struct cupti_callback *data)
{
	const struct cuda_role *r = &cuda_models[CUDA_DRIVER].roles[op];

	if (!r->narrow)
		cuda_twin_freed(argument(data->params, r->object, r->after_object));
}

/* ---- the launching thread and the one that runs the twin ---- */

struct meeting {
	struct cuda_twin_run run; /* first */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	void (*fn)(void *data); /* asked for */
	void *data;
	bool done;
};

void cuda_twin_there(struct cuda_twin_run *r, void (*fn)(void *data), void *data)
{
	struct meeting *m = (struct meeting *)r;

	pthread_mutex_lock(&m->lock);
	m->fn = fn;
	m->data = data;
	pthread_cond_broadcast(&m->changed);
	while (m->fn)
		pthread_cond_wait(&m->changed, &m->lock);
	pthread_mutex_unlock(&m->lock);
}

static void work(void *arg)
{
	struct meeting *m = arg;

	own = true;
	cuda_twin_run(&m->run);
	own = false;
	pthread_mutex_lock(&m->lock);
	m->done = true;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

static void attend(struct meeting *m)
{
	pthread_mutex_lock(&m->lock);
	while (!m->done) {
		if (m->fn) {
			m->fn(m->data);
			m->fn = NULL;
			pthread_cond_broadcast(&m->changed);
		} else {
			pthread_cond_wait(&m->changed, &m->lock);
		}
	}
	pthread_mutex_unlock(&m->lock);
}

/* ---- launches ---- */

static void counted(struct cuda_twin_run *r)
{
	struct cap_line_counts out = {.launch = r->l->launch, .start = r->start, .end = r->end};

	cap_parts_write(&r->twin->counted, &out, r->sums, 0);
	tell(1, "launches of kernels ran once more, instrumented; what that had written was put "
		"back");
}

static void run_twin(struct cuda_twin_launch *l)
{
	struct meeting m = {.run = {.l = l, .records = cap_accesses_wanted(), .counted = counted},
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .changed = PTHREAD_COND_INITIALIZER};
	pthread_t thread;

	if (!core_helper_start("twin", work, &m, &thread)) {
		tell_of(l->name, "were not instrumented", "no thread could be made");
		return;
	}
	attend(&m);
	pthread_join(thread, NULL);
	cap_timed_own(m.run.before);
	cap_accesses_end(m.run.taken, !m.run.no_accesses && !m.run.why);
	if (m.run.why)
		tell_of(l->name, "were not instrumented", m.run.why);
	else if (m.run.no_accesses)
		tell_of(l->name, "are without accesses", m.run.no_accesses);
	free(m.run.sites.at);
	free(m.run.buffers);
	free(m.run.sums);
}

struct kernel_params { /* of cuLaunchKernel() */
	void *function;
	unsigned grid[3], block[3], shared;
	void *stream;
	void **params, **extra;
};

struct kernel_config {
	unsigned grid[3], block[3], shared;
	void *stream;
	const char *attributes;
	unsigned attribute_count;
};

struct kernel_ex_params { /* of cuLaunchKernelEx() */
	const struct kernel_config *config;
	void *function;
	void **params, **extra;
};

enum { ATTRIBUTE_BYTES = 72, COOPERATIVE = 2, CLUSTER = 4, PREFERRED_CLUSTER = 11 };

/* What such a launch has that a twin's has not; NULL: nothing. */
static const char *config_refused(const struct kernel_config *c)
{
	for (unsigned i = 0; i < c->attribute_count && c->attributes; i++) {
		const char *at = c->attributes + (size_t)i * ATTRIBUTE_BYTES;
		unsigned id, value;

		memcpy(&id, at, sizeof(id));
		memcpy(&value, at + 8, sizeof(value));
		if (id == COOPERATIVE && value)
			return "all of its groups run at once (a cooperative launch)";
		if ((id == CLUSTER || id == PREFERRED_CLUSTER) && value > 1)
			return "its groups run in clusters";
	}
	return NULL;
}

static const char *describe(enum cuda_twin_role role, const void *params,
			    struct cuda_twin_launch *l)
{
	struct kernel_params k;
	struct kernel_ex_params x;

	if (role == CUDA_TWIN_COOPERATIVE)
		return "all of its groups run at once (a cooperative launch)";
	if (role == CUDA_TWIN_LAUNCH) {
		memcpy(&k, params, sizeof(k));
	} else {
		memcpy(&x, params, sizeof(x));
		memcpy(k.grid, x.config->grid, sizeof(k.grid));
		memcpy(k.block, x.config->block, sizeof(k.block));
		k = (struct kernel_params){x.function,
					   {k.grid[0], k.grid[1], k.grid[2]},
					   {k.block[0], k.block[1], k.block[2]},
					   x.config->shared,
					   x.config->stream,
					   x.params,
					   x.extra};
	}
	l->function = k.function;
	l->stream = k.stream;
	l->shared = k.shared;
	l->params = k.params;
	l->extra = k.extra;
	memcpy(l->grid, k.grid, sizeof(l->grid));
	memcpy(l->block, k.block, sizeof(l->block));
	return role == CUDA_TWIN_LAUNCH ? NULL : config_refused(x.config);
}

/* Of its name alone. */
static const char *name_refused(const char *name)
{
	return strncmp(name, "nccl", 4) == 0 || strstr(name, "nvshmem")
		       ? "it works together with kernels of other devices"
		       : NULL;
}

static bool is_capturing(void *stream)
{
	int status = 0;
	bool yes;

	if (atomic_load(&captures))
		return true;
	own = true; /* this thread, for a moment */
	yes = cuda_driver.StreamIsCapturing(stream, &status) == 0 && status != 0;
	own = false;
	return yes;
}

/* Whether it is to be instrumented: it has the next number of its kernel's launches in any case. */
static const char *why_not(enum cuda_twin_role role, const struct cupti_callback *data,
			   struct cuda_twin_launch *l)
{
	const char *why;

	if (!driver_ready())
		return "the driver lacks functions that instrumented kernels need";
	why = describe(role, data->params, l);
	if (!why)
		why = name_refused(l->name);
	return why;
}

static void enter_gate(const struct cupti_callback *data)
{
	if (gate.open)
		return;
	gate.open = true;
	gate.correlation = data->correlation;
	gate.entered = cap_gate_enter();
}

static void leave_gate(const struct cupti_callback *data)
{
	if (!gate.open || gate.correlation != data->correlation)
		return;
	gate.open = false;
	cap_gate_leave(gate.entered);
}

/* A launch that is chosen waits for its twin; it then goes on as any other. */
static void launch(enum cuda_twin_role role, const struct cupti_callback *data)
{
	struct cuda_twin_launch l = {.name = data->symbol ? data->symbol : "",
				     .context = data->context};
	const uint32_t device = cuda_device_of(data->context_id);
	const struct cap_launch launch = {.agent = cuda_agent(device),
					  .kernel = cuda_kernel(data->symbol),
					  .correlation = cuda_submission_call(data->correlation),
					  .name = data->symbol};
	struct cap_counted_launch c;
	const bool chosen = cap_launch_chosen(&c, &launch);
	const char *why;

	*cuda_launch_number(data->correlation) = c.number;
	if (!chosen || !c.lines || !twins_count(device))
		return;
	l.launch = &launch;
	why = why_not(role, data, &l);
	if (!why && is_capturing(l.stream))
		why = "they were captured into a graph, or launched while one was captured";
	if (why) {
		tell_of(l.name, "were not instrumented", why);
		return;
	}
	if (!cap_launch_hold(&c)) {
		tell_of(l.name, "were not instrumented", "others submitted work all the time");
		return;
	}
	run_twin(&l);
	cap_launch_end(&c);
}

static void submit(enum cuda_twin_role role, bool enter, const struct cupti_callback *data)
{
	if (!enter) {
		leave_gate(data);
		return;
	}
	if (role == CUDA_TWIN_LAUNCH || role == CUDA_TWIN_LAUNCH_EX ||
	    role == CUDA_TWIN_COOPERATIVE)
		launch(role, data);
	else if (role == CUDA_TWIN_GRAPH && !cuda_sass_in_use())
		tell(1, "graphs were launched, whose kernels are not instrumented: a graph runs as "
			"it was made");
	enter_gate(data);
}

static void capture(bool began, const struct cupti_callback *data)
{
	unsigned n = atomic_load(&captures);

	if (began)
		atomic_fetch_add(&captures, 1);
	while (!began && n && !atomic_compare_exchange_weak(&captures, &n, n - 1))
		;
}

void cuda_twin_call(uint32_t op, bool enter, const struct cupti_callback *data)
{
	const enum cuda_twin_role role = cuda_twin_role(op);
	const bool failed = !enter && data->result && *(const int *)data->result != 0;

	if (!data->params && role != CUDA_TWIN_SUBMIT)
		return;
	switch (role) {
	case CUDA_TWIN_NONE:
		return;
	case CUDA_TWIN_LAUNCH:
	case CUDA_TWIN_LAUNCH_EX:
	case CUDA_TWIN_COOPERATIVE:
	case CUDA_TWIN_GRAPH:
	case CUDA_TWIN_SUBMIT:
		submit(role, enter, data);
		return;
	case CUDA_TWIN_CAPTURE:
		if (enter || failed)
			capture(enter, data);
		return;
	case CUDA_TWIN_CAPTURED:
		if (!enter)
			capture(false, data);
		return;
	case CUDA_TWIN_LOAD:
	case CUDA_TWIN_LOAD_FILE:
		if (!enter && !failed)
			loaded(op, data, role == CUDA_TWIN_LOAD_FILE);
		return;
	case CUDA_TWIN_UNLOAD:
		if (enter)
			cuda_image_unloaded((void *)(uintptr_t)pointer(data->params, 0));
		return;
	case CUDA_TWIN_ALLOCATE:
		if (!enter && !failed)
			allocated(op, data);
		return;
	case CUDA_TWIN_FREE:
		if (enter)
			freed(op, data);
		return;
	case CUDA_TWIN_MAP:
		if (!enter && !failed)
			cuda_twin_allocated(data->context, (uintptr_t)pointer(data->params, 0),
					    (uintptr_t)pointer(data->params, 1));
		return;
	case CUDA_TWIN_UNMAP:
		if (enter)
			cuda_twin_freed((uintptr_t)pointer(data->params, 0));
		return;
	}
}

void cuda_twin_context_end(void *context)
{
	cuda_twins_context_end(context);
}

void cuda_twin_fork_child(void)
{
	pthread_mutex_init(&telling, NULL);
	memset(told, 0, sizeof(told));
	atomic_store(&captures, 0);
	cuda_images_fork_child();
	cuda_twin_memory_fork_child();
	cuda_twins_fork_child();
}
