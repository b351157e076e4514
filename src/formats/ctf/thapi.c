/* SPDX-License-Identifier: Apache-2.0 */
/* What devices did, in traces of THAPI; see foreign.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/ctf/foreign.h"
#include "stream/assemble.h"

enum foreign_role thapi_role(const char *name)
{
	static const struct {
		const char *name;
		enum foreign_role role;
	} known[] = {
		{"lttng_ust_opencl_profiling:event_profiling", ROLE_CL_EVENT},
		{"lttng_ust_opencl_profiling:event_profiling_results", ROLE_CL_RESULT},
		{"lttng_ust_opencl_arguments:kernel_info", ROLE_CL_KERNEL},
		{"lttng_ust_opencl_devices:device_name", ROLE_DEVICE_NAME},
		{"lttng:device_name", ROLE_DEVICE_NAME},
		{"aggreg:host", ROLE_SUM_HOST},
		{"aggreg:device", ROLE_SUM_DEVICE},
		{"aggreg:traffic", ROLE_SUM_TRAFFIC},
		{"lttng:host", ROLE_HOST},
		{"lttng:device", ROLE_DEVICE},
		{"lttng_ust_ze_profiling:event_profiling", ROLE_LEFT_OUT},
		{"lttng_ust_ze_profiling:event_profiling_results", ROLE_LEFT_OUT},
		{"lttng_ust_cuda_profiling:event_profiling", ROLE_LEFT_OUT},
		{"lttng_ust_cuda_profiling:event_profiling_results", ROLE_LEFT_OUT},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].role;
	return ROLE_MARK;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static void set(struct ctf_reader *r, struct map *m, uint64_t key, uint64_t value)
{
	if (value && !map_set(m, key, value)) {
		r->status = KYMO_ERROR_NO_MEMORY;
		r->done = true;
	}
}

/* ---- devices, queues, kernels ----------------------------------------------------------------- */

uint32_t thapi_agent(struct ctf_reader *r, uint32_t process, const char *domain, uint64_t device)
{
	char name[64];
	struct t_agent what = {.type = "gpu",
			       .vendor = "",
			       .driver = "",
			       .domain = domain,
			       .platform = "",
			       .properties = "",
			       .label = "",
			       .hardware = "",
			       .handle = device};

	struct ctf_foreign *f = r->foreign;
	uint64_t known = map_get(&f->device_names, hash_mix(process, device));

	if (f->keyed.complete)
		return keyed_agent(&f->keyed, process, device, &what);
	snprintf(name, sizeof(name), device ? "device 0x%llx" : "device",
		 (unsigned long long)device);
	what.name = known ? keyed_string(&f->keyed, (uint32_t)known)
			  : trace_string(r->t, name, strlen(name));
	return keyed_agent(&f->keyed, process, device, &what);
}

uint32_t thapi_queue(struct ctf_reader *r, uint32_t process, const char *domain, uint32_t agent,
		     uint64_t handle)
{
	const struct t_queue what = {.process = process,
				     .agent = agent,
				     .handle = handle,
				     .domain = domain,
				     .name = "",
				     .label = ""};

	return keyed_queue(&r->foreign->keyed, &what);
}

static void create_queue(struct ctf_reader *r, uint32_t process, const struct foreign_frame *f)
{
	uint64_t handle = foreign_number(&r->foreign->values, "command_queue");
	uint32_t agent = thapi_agent(r, process, "opencl", foreign_number(&f->values, "device"));

	if (handle)
		set(r, &r->foreign->queues, hash_mix(process, handle),
		    thapi_queue(r, process, "opencl", agent, handle));
}

static void name_kernel(struct ctf_reader *r, uint32_t process, uint64_t handle, const char *name)
{
	if (handle)
		set(r, &r->foreign->kernels, hash_mix(process, handle),
		    keyed_text(&r->foreign->keyed, *name ? name : "?", *name ? strlen(name) : 1));
}

static void create_kernel(struct ctf_reader *r, uint32_t process, const struct foreign_frame *f)
{
	const char *name = foreign_text(&f->values, "kernel_name_val");

	name_kernel(r, process, foreign_number(&r->foreign->values, "kernel"),
		    *name ? name : foreign_text(&f->values, "kernel_name"));
}

/* Kernels that are made all at once have their names only there. */
void thapi_cl_kernel(struct ctf_reader *r, const struct foreign_event *e)
{
	const struct foreign_values *v = &r->foreign->values;

	foreign_take(&r->foreign->values, e->payload);
	name_kernel(r, e->thread->process, foreign_number(v, "kernel"),
		    foreign_text(v, "function_name"));
}

void thapi_device_name(struct ctf_reader *r, const struct foreign_event *e)
{
	struct foreign_values *v = &r->foreign->values;
	const char *name;

	foreign_take(v, e->payload);
	name = foreign_text(v, "name");
	if (r->defining && *name)
		set(r, &r->foreign->device_names,
		    hash_mix(e->thread->process,
			     foreign_number(v, foreign_value(v, "did") ? "did" : "device")),
		    keyed_text(&r->foreign->keyed, name, strlen(name)));
}

/* A queue whose making is not in the trace is of a device that is not known. */
static uint32_t known_queue(struct ctf_reader *r, uint32_t process, uint64_t handle)
{
	uint64_t known = map_get(&r->foreign->queues, hash_mix(process, handle));

	return known ? (uint32_t)known
		     : thapi_queue(r, process, "opencl", thapi_agent(r, process, "opencl", 0),
				   handle);
}

/* ---- commands of OpenCL ------------------------------------------------------------------------ */

static void take_sizes(const char *text, uint64_t out[3])
{
	unsigned long long v[3] = {0};

	if (sscanf(text, "[%llu, %llu, %llu", &v[0], &v[1], &v[2]) < 1)
		return;
	for (unsigned i = 0; i < 3; i++)
		out[i] = v[i];
}

uint32_t thapi_copy_op(const char *name)
{
	static const struct {
		const char *with;
		uint32_t op;
	} ops[] = {{"clEnqueueRead", COPY_OP_READ},       {"clEnqueueWrite", COPY_OP_WRITE},
		   {"clEnqueueCopy", COPY_OP_COPY},       {"clEnqueueFill", COPY_OP_FILL},
		   {"clEnqueueSVMMemFill", COPY_OP_FILL}, {"clEnqueueSVMMemcpy", COPY_OP_COPY},
		   {"clEnqueueMap", COPY_OP_MAP},         {"clEnqueueSVMMap", COPY_OP_MAP},
		   {"clEnqueueUnmap", COPY_OP_UNMAP},     {"clEnqueueSVMUnmap", COPY_OP_UNMAP},
		   {"clEnqueueMigrate", COPY_OP_MIGRATE}};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (starts(name, ops[i].with))
			return ops[i].op;
	return UINT32_MAX;
}

static void describe(struct ctf_reader *r, const struct foreign_event *e, const char *name,
		     const struct foreign_frame *f, struct foreign_work *w)
{
	uint32_t process = e->thread->process, copy = thapi_copy_op(name);
	uint64_t kernel = foreign_number(&f->values, "kernel"), text, region[3] = {0};

	w->submitted = true;
	w->process = process;
	w->thread = e->thread->thread;
	w->call = f->id;
	w->submit = f->start;
	w->copy = copy != UINT32_MAX;
	w->op = copy;
	w->queue = known_queue(r, process, foreign_number(&f->values, "command_queue"));
	if (w->copy) {
		w->bytes = foreign_number(&f->values, "size");
		w->bytes = w->bytes ? w->bytes : foreign_number(&f->values, "cb");
		take_sizes(foreign_text(&f->values, "region_vals"), region);
		if (strstr(name, "BufferRect"))
			w->bytes = region[0] * region[1] * region[2];
		return;
	}
	w->other = !starts(name, "clEnqueueNDRangeKernel") && !starts(name, "clEnqueueTask");
	if (w->other)
		return;
	text = map_get(&r->foreign->kernels, hash_mix(process, kernel));
	w->kernel = keyed_kernel(&r->foreign->keyed, process, (uint32_t)text, 0, "opencl");
	w->dims = (uint32_t)foreign_number(&f->values, "work_dim");
	w->dims = w->dims >= 1 && w->dims <= 3 ? w->dims : 1;
	take_sizes(foreign_text(&f->values, "global_work_size_vals"), w->global);
	take_sizes(foreign_text(&f->values, "local_work_size_vals"), w->local);
}

void thapi_call(struct ctf_reader *r, const struct foreign_event *e, const char *name,
		struct foreign_frame *f)
{
	if (starts(name, "clCreateCommandQueue"))
		create_queue(r, e->thread->process, f);
	else if (strcmp(name, "clCreateKernel") == 0)
		create_kernel(r, e->thread->process, f);
	else if (r->defining && f->submitted)
		r->t->ops[e->c->op].flags |= KYMO_OP_SUBMITS;
}

static struct rec_device times_of(const struct foreign_work *w)
{
	const struct foreign_times *x = &w->times;
	struct rec_device d = {.correlation = w->call, .submit = w->submit, .status = x->status};
	bool told = w->finished && x->told && x->queued && x->queued <= x->start &&
		    x->start <= x->end && x->end - x->queued < UINT64_C(1) << 60;

	if (!told) {
		d.untimed = UNTIMED_NOT_REPORTED;
		return d;
	}
	/* The device's clock is not known: its times are taken since the call began, as THAPI does. */
	d.queued = w->submit;
	d.submitted = w->submit + (int64_t)(x->submit >= x->queued && x->submit <= x->start
						    ? x->submit - x->queued
						    : 0);
	d.start = w->submit + (int64_t)(x->start - x->queued);
	d.end = w->submit + (int64_t)(x->end - x->queued);
	return d;
}

static kymo_status_t hand_on_kernel(struct ctf_reader *r, const struct foreign_work *w,
				    const struct rec *base, const struct rec_device *d)
{
	struct rec_dispatch x = {.base = *base,
				 .device = *d,
				 .agent = r->t->queues[w->queue].agent,
				 .queue = w->queue,
				 .kernel = w->kernel,
				 .dims = w->dims};

	memcpy(x.global, w->global, sizeof(x.global));
	memcpy(x.local, w->local, sizeof(x.local));
	x.base.op = make_activity(&r->foreign->model, RECORD_DOMAIN_dispatch, DISPATCH_OP_KERNEL);
	return r->sink->dispatch(r->sink, &x);
}

static kymo_status_t hand_on_copy(struct ctf_reader *r, const struct foreign_work *w,
				  const struct rec *base, const struct rec_device *d)
{
	uint32_t agent = r->t->queues[w->queue].agent;
	struct rec_copy x = {.base = *base, .device = *d, .queue = w->queue, .bytes = w->bytes};

	x.source_agent = w->op == COPY_OP_WRITE ? 0 : agent;
	x.destination_agent = w->op == COPY_OP_READ ? 0 : agent;
	x.source_kind = x.source_agent ? MEMORY_DEVICE : MEMORY_UNKNOWN;
	x.destination_kind = x.destination_agent ? MEMORY_DEVICE : MEMORY_UNKNOWN;
	x.base.op = make_activity(&r->foreign->model, RECORD_DOMAIN_copy, w->op);
	return r->sink->copy(r->sink, &x);
}

bool thapi_is_no_work(const char *name)
{
	return starts(name, "clEnqueueMarker") || starts(name, "clEnqueueBarrier");
}

void thapi_no_work(struct ctf_reader *r, uint64_t count)
{
	if (!r->defining)
		unplaced_add(&r->unplaced,
			     "device times of commands that are no kernels and no copies", count);
}

/* What is known of the work, once its call and its times have come, or the one will not. */
static void hand_on(struct ctf_reader *r, const struct foreign_work *w)
{
	struct rec_device d = times_of(w);
	int64_t at = w->finished ? w->times.at : w->submit;
	struct rec base = {
		.process = w->process, .thread = w->thread, .ok = true, .start = at, .end = at};

	if (!w->submitted) {
		foreign_lost(r, "device times of no command");
		return;
	}
	if (r->defining)
		return;
	if (w->other) {
		thapi_no_work(r, 1);
		return;
	}
	r->status = w->copy ? hand_on_copy(r, w, &base, &d) : hand_on_kernel(r, w, &base, &d);
	r->done = r->status != KYMO_OK;
}

/* The place of the work of that event; what was there before and is now another's is handed on. */
static struct foreign_work *work_of(struct ctf_reader *r, uint64_t key, bool again)
{
	struct ctf_foreign *x = r->foreign;
	uint64_t place = map_get(&x->work, key);

	if (place && again) {
		hand_on(r, &x->works[place - 1]);
		x->works[place - 1] = (struct foreign_work){0};
	}
	if (place)
		return &x->works[place - 1];
	if (x->work_free) {
		place = x->work_free;
		x->work_free = x->works[place - 1].next;
	} else if (vec_reserve(&x->works, &x->work_room, x->work_count, 1)) {
		place = ++x->work_count;
	} else {
		r->status = KYMO_ERROR_NO_MEMORY;
		r->done = true;
		return NULL;
	}
	x->works[place - 1] = (struct foreign_work){0};
	set(r, &x->work, key, place);
	return &x->works[place - 1];
}

static bool is_submitted(const struct ctf_foreign *x, uint64_t key)
{
	uint64_t place = map_get(&x->work, key);

	return place && x->works[place - 1].submitted;
}

static bool is_finished(const struct ctf_foreign *x, uint64_t key)
{
	uint64_t place = map_get(&x->work, key);

	return place && x->works[place - 1].finished;
}

static void finish(struct ctf_reader *r, uint64_t key)
{
	struct ctf_foreign *x = r->foreign;
	uint64_t place = map_remove(&x->work, key);

	hand_on(r, &x->works[place - 1]);
	x->works[place - 1] = (struct foreign_work){.next = x->work_free};
	x->work_free = (uint32_t)place;
}

/* The call under way has that event, whose times come later, perhaps of another thread, or just before. */
void thapi_cl_event(struct ctf_reader *r, const struct foreign_event *e)
{
	struct foreign_frame *f =
		e->thread->depth ? &e->thread->frames[e->thread->depth - 1] : NULL;
	uint64_t event = 0, key;
	struct foreign_work *w;

	ctf_number(ctf_member(e->payload, "event"), &event);
	if (!f || f->op & FOREIGN_FUNCTION || !event)
		return;
	f->submitted = event;
	key = hash_mix(e->thread->process, event);
	w = work_of(r, key, is_submitted(r->foreign, key));
	if (!w)
		return;
	describe(r, e, r->t->ops[f->op].name, f, w);
	if (w->finished)
		finish(r, key);
}

void thapi_cl_result(struct ctf_reader *r, const struct foreign_event *e)
{
	const struct foreign_values *v = &r->foreign->values;
	uint64_t event = 0, key;
	struct foreign_work *w;

	ctf_number(ctf_member(e->payload, "event"), &event);
	key = hash_mix(e->thread->process, event);
	w = work_of(r, key, is_finished(r->foreign, key));
	if (!w)
		return;
	foreign_take(&r->foreign->values, e->payload);
	w->finished = true;
	w->times = (struct foreign_times){
		.queued = foreign_number(v, "queued"),
		.submit = foreign_number(v, "submit"),
		.start = foreign_number(v, "start"),
		.end = foreign_number(v, "end"),
		.status = (int32_t)foreign_number(v, "event_command_exec_status"),
		.told = !foreign_number(v, "queued_status") && !foreign_number(v, "start_status") &&
			!foreign_number(v, "end_status"),
		.at = e->time};
	if (w->submitted)
		finish(r, key);
}

/* Commands whose times never came are there without them. */
void thapi_end(struct ctf_reader *r)
{
	struct ctf_foreign *x = r->foreign;

	for (uint32_t i = 0; i < x->work_count && r->status == KYMO_OK; i++)
		if (x->works[i].submitted || x->works[i].finished)
			hand_on(r, &x->works[i]);
}

/* ---- intervals, as iprof saves them ------------------------------------------------------------ */

const char *thapi_backend(uint64_t number)
{
	static const char *const names[] = {"unknown", "ze",  "opencl", "cuda", "omp",
					    "omp",     "hip", "mpi",    "cxi",  "itt"};

	return number < sizeof(names) / sizeof(*names) ? names[number] : names[0];
}

static bool take_interval(struct ctf_reader *r, const struct foreign_event *e, struct rec *base)
{
	struct foreign_values *v = &r->foreign->values;
	uint64_t duration;

	foreign_take(v, e->payload);
	duration = foreign_number(v, "dur");
	if (duration >= UINT64_C(1) << 60)
		return foreign_lost(r, "intervals of impossible length");
	*base = (struct rec){.process = e->thread->process,
			     .thread = e->thread->thread,
			     .ok = !foreign_number(v, "err"),
			     .start = e->time,
			     .end = e->time + (int64_t)duration};
	base->status = base->ok ? 0 : -1;
	r->foreign->last = base->end > r->foreign->last ? base->end : r->foreign->last;
	return true;
}

void thapi_host(struct ctf_reader *r, const struct foreign_event *e)
{
	struct rec c;
	const char *name;

	if (!take_interval(r, e, &c))
		return;
	name = foreign_text(&r->foreign->values, "name");
	c.op = keyed_op(&r->foreign->keyed, thapi_backend(e->backend), *name ? name : "?", NULL, 0);
	c.id = ++r->foreign->ids;
	if (r->defining)
		return;
	r->status = r->sink->call(r->sink, &c);
	r->done = r->status != KYMO_OK;
}

bool thapi_is_copy(const char *name)
{
	return starts(name, "zeCommandListAppendMemory") || starts(name, "cuMem") ||
	       starts(name, "hipMem") || thapi_copy_op(name) != UINT32_MAX;
}

void thapi_device(struct ctf_reader *r, const struct foreign_event *e)
{
	struct foreign_values *v = &r->foreign->values;
	struct foreign_work w = {0};
	struct rec_device d = {0};
	const char *name, *domain = thapi_backend(e->backend);
	uint32_t agent;
	struct rec c;

	if (!take_interval(r, e, &c))
		return;
	name = foreign_text(v, "name");
	if (thapi_is_no_work(name)) {
		thapi_no_work(r, 1);
		return;
	}
	w.process = c.process;
	w.copy = thapi_is_copy(name);
	w.op = thapi_copy_op(name) != UINT32_MAX ? thapi_copy_op(name) : COPY_OP_COPY;
	w.dims = 1;
	agent = thapi_agent(r, c.process, domain,
			    foreign_number(v, "sdid") ? foreign_number(v, "sdid")
						      : foreign_number(v, "did"));
	w.queue = thapi_queue(r, c.process, domain, agent, 0);
	w.kernel = w.copy ? 0
			  : keyed_kernel(&r->foreign->keyed, c.process,
					 keyed_text(&r->foreign->keyed, name, strlen(name)), 0,
					 domain);
	if (r->defining)
		return;
	d.queued = d.submitted = d.start = c.start;
	d.end = c.end;
	r->status = w.copy ? hand_on_copy(r, &w, &c, &d) : hand_on_kernel(r, &w, &c, &d);
	r->done = r->status != KYMO_OK;
}

void thapi_release(struct ctf_foreign *f)
{
	map_release(&f->kernels);
	map_release(&f->queues);
	map_release(&f->agents);
	map_release(&f->work);
	map_release(&f->device_names);
	map_release(&f->sums);
	free(f->works);
}
