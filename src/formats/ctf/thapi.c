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
		{"lttng:host", ROLE_HOST},
		{"lttng:device", ROLE_DEVICE},
		{"lttng:traffic", ROLE_LEFT_OUT},
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

static uint32_t agent_of(struct ctf_reader *r, uint32_t process, const char *domain,
			 uint64_t device)
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

	if (r->foreign->keyed.complete)
		return keyed_agent(&r->foreign->keyed, process, device, &what);
	snprintf(name, sizeof(name), "device 0x%llx", (unsigned long long)device);
	what.name = trace_string(r->t, name, strlen(name));
	return keyed_agent(&r->foreign->keyed, process, device, &what);
}

static uint32_t queue_of(struct ctf_reader *r, uint32_t process, const char *domain, uint32_t agent,
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
	uint32_t agent = agent_of(r, process, "opencl", foreign_number(&f->values, "device"));

	if (handle)
		set(r, &r->foreign->queues, hash_mix(process, handle),
		    queue_of(r, process, "opencl", agent, handle));
}

static void create_kernel(struct ctf_reader *r, uint32_t process, const struct foreign_frame *f)
{
	uint64_t handle = foreign_number(&r->foreign->values, "kernel");
	const char *name = foreign_text(&f->values, "kernel_name_val");

	name = *name ? name : foreign_text(&f->values, "kernel_name");
	if (handle)
		set(r, &r->foreign->kernels, hash_mix(process, handle),
		    keyed_text(&r->foreign->keyed, *name ? name : "?", *name ? strlen(name) : 1));
}

/* A queue whose making is not in the trace is of a device that is not known. */
static uint32_t known_queue(struct ctf_reader *r, uint32_t process, uint64_t handle)
{
	uint64_t known = map_get(&r->foreign->queues, hash_mix(process, handle));

	return known ? (uint32_t)known
		     : queue_of(r, process, "opencl", agent_of(r, process, "opencl", 0), handle);
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

static uint32_t copy_op(const char *name)
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

static bool describe(struct ctf_reader *r, const struct foreign_event *e, const char *name,
		     const struct foreign_frame *f, struct foreign_work *w)
{
	uint32_t process = e->thread->process, copy = copy_op(name);
	uint64_t kernel = foreign_number(&f->values, "kernel"), text;

	*w = (struct foreign_work){.process = process,
				   .thread = e->thread->thread,
				   .call = f->id,
				   .submit = f->start,
				   .copy = copy != UINT32_MAX,
				   .op = copy};
	w->queue = known_queue(r, process, foreign_number(&f->values, "command_queue"));
	if (w->copy) {
		w->bytes = foreign_number(&f->values, "size");
		w->bytes = w->bytes ? w->bytes : foreign_number(&f->values, "cb");
		return true;
	}
	if (!starts(name, "clEnqueueNDRangeKernel") && !starts(name, "clEnqueueTask"))
		return false;
	text = map_get(&r->foreign->kernels, hash_mix(process, kernel));
	w->kernel = keyed_kernel(&r->foreign->keyed, process, (uint32_t)text, 0, "opencl");
	w->dims = (uint32_t)foreign_number(&f->values, "work_dim");
	w->dims = w->dims >= 1 && w->dims <= 3 ? w->dims : 1;
	take_sizes(foreign_text(&f->values, "global_work_size_vals"), w->global);
	take_sizes(foreign_text(&f->values, "local_work_size_vals"), w->local);
	return true;
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

/* The call under way has that event, whose times come later, perhaps of another thread. */
void thapi_cl_event(struct ctf_reader *r, const struct foreign_event *e)
{
	struct ctf_foreign *x = r->foreign;
	struct foreign_frame *f =
		e->thread->depth ? &e->thread->frames[e->thread->depth - 1] : NULL;
	uint64_t event = 0, key, place;
	struct foreign_work w;

	ctf_number(ctf_member(e->payload, "event"), &event);
	if (!f || f->op & FOREIGN_FUNCTION || !event)
		return;
	f->submitted = event;
	if (!describe(r, e, r->t->ops[f->op].name, f, &w))
		return;
	key = hash_mix(e->thread->process, event);
	place = map_get(&x->work, key);
	if (!place && x->work_free) {
		place = x->work_free;
		x->work_free = x->works[place - 1].next;
	} else if (!place) {
		if (!vec_reserve(&x->works, &x->work_room, x->work_count, 1)) {
			r->status = KYMO_ERROR_NO_MEMORY;
			r->done = true;
			return;
		}
		place = ++x->work_count;
	}
	x->works[place - 1] = w;
	set(r, &x->work, key, place);
}

static struct rec_device times_of(struct ctf_reader *r, const struct foreign_work *w)
{
	const struct foreign_values *v = &r->foreign->values;
	uint64_t queued = foreign_number(v, "queued"), submit = foreign_number(v, "submit");
	uint64_t start = foreign_number(v, "start"), end = foreign_number(v, "end");
	struct rec_device d = {.correlation = w->call, .submit = w->submit};
	bool told = !foreign_number(v, "queued_status") && !foreign_number(v, "start_status") &&
		    !foreign_number(v, "end_status") && queued && queued <= start && start <= end &&
		    end - queued < UINT64_C(1) << 60;

	d.status = (int32_t)foreign_number(v, "event_command_exec_status");
	if (!told) {
		d.untimed = UNTIMED_NOT_REPORTED;
		return d;
	}
	/* The device's clock is not known: its times are taken since the call began, as THAPI does. */
	d.queued = w->submit;
	d.submitted =
		w->submit + (int64_t)(submit >= queued && submit <= start ? submit - queued : 0);
	d.start = w->submit + (int64_t)(start - queued);
	d.end = w->submit + (int64_t)(end - queued);
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

void thapi_cl_result(struct ctf_reader *r, const struct foreign_event *e)
{
	uint64_t event = 0, place;
	struct foreign_work *w;
	struct rec_device d;
	struct rec base;

	ctf_number(ctf_member(e->payload, "event"), &event);
	place = map_remove(&r->foreign->work, hash_mix(e->thread->process, event));
	if (!place) {
		foreign_lost(r, "device times of no command");
		return;
	}
	w = &r->foreign->works[place - 1];
	w->next = r->foreign->work_free;
	r->foreign->work_free = (uint32_t)place;
	if (r->defining)
		return;
	foreign_take(&r->foreign->values, e->payload);
	d = times_of(r, w);
	base = (struct rec){.process = w->process,
			    .thread = w->thread,
			    .ok = true,
			    .start = e->time,
			    .end = e->time};
	r->status = w->copy ? hand_on_copy(r, w, &base, &d) : hand_on_kernel(r, w, &base, &d);
	r->done = r->status != KYMO_OK;
}

/* ---- intervals, as iprof saves them ------------------------------------------------------------ */

static const char *backend(uint64_t number)
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
	c.op = keyed_op(&r->foreign->keyed, backend(e->backend), *name ? name : "?", NULL, 0);
	c.id = ++r->foreign->ids;
	if (r->defining)
		return;
	r->status = r->sink->call(r->sink, &c);
	r->done = r->status != KYMO_OK;
}

static bool is_copy(const char *name)
{
	return starts(name, "zeCommandListAppendMemory") || starts(name, "cuMem") ||
	       starts(name, "hipMem") || copy_op(name) != UINT32_MAX;
}

void thapi_device(struct ctf_reader *r, const struct foreign_event *e)
{
	struct foreign_values *v = &r->foreign->values;
	struct foreign_work w = {0};
	struct rec_device d = {0};
	const char *name, *domain = backend(e->backend);
	uint32_t agent;
	struct rec c;

	if (!take_interval(r, e, &c))
		return;
	name = foreign_text(v, "name");
	w.process = c.process;
	w.copy = is_copy(name);
	w.op = copy_op(name) != UINT32_MAX ? copy_op(name) : COPY_OP_COPY;
	w.dims = 1;
	agent = agent_of(r, c.process, domain,
			 foreign_number(v, "sdid") ? foreign_number(v, "sdid")
						   : foreign_number(v, "did"));
	w.queue = queue_of(r, c.process, domain, agent, 0);
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
	free(f->works);
}
