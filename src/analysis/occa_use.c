/* SPDX-License-Identifier: Apache-2.0 */
/* See occa_use.h. */
#include "analysis/occa_use.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call_use.h"
#include "base/hash.h"
#include "base/vec.h"

enum { OTHER, SETUP, RUN, BUILD, COPY_FROM, COPY_TO, BORN, DIES };

struct occa_birth {
	uint64_t lifetime;
	int64_t time;
	uint32_t process, memory, device; /* numbers of rows */
};

struct occa_death {
	uint64_t lifetime;
	int64_t time;
	uint32_t process;
};

static uint8_t what_is(const char *op)
{
	static const struct {
		const char *name;
		uint8_t is;
	} ops[] = {
		{"device::setup", SETUP},
		{"kernel::run", RUN},
		{"device::buildKernel", BUILD},
		{"device::buildKernelFromString", BUILD},
		{"device::buildKernelFromBinary", BUILD},
		{"memory::copyFrom", COPY_FROM},
		{"memory::copyTo", COPY_TO},
		{"buffer::allocate", BORN},
		{"buffer::free", DIES},
	};

	for (unsigned i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (strcmp(op, ops[i].name) == 0)
			return ops[i].is;
	return OTHER;
}

bool occa_use_op(const struct trace *t, const struct t_op *op)
{
	return call_use_of(t, op, "occa", what_is) != OTHER;
}

struct occa_use *occa_use_new(const struct trace *t)
{
	struct occa_use *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->trace = t;
	o->op_is = call_use_ops(t, "occa", what_is);
	if (!o->op_is) {
		free(o);
		return NULL;
	}
	return o;
}

void occa_use_free(struct occa_use *o)
{
	if (!o)
		return;
	map_release(&o->kernel_places);
	map_release(&o->device_places);
	map_release(&o->memory_places);
	free(o->op_is);
	free(o->kernels);
	free(o->devices);
	free(o->memory);
	free(o->births);
	free(o->deaths);
	free(o);
}

/* ---- rows ---- */

struct occa_kernel_use *occa_use_kernel(struct occa_use *o, const char *device, const char *kernel,
					const char *source)
{
	uint64_t i, hash = hash_mix(hash_mix(hash_string(device), hash_string(kernel)),
				    hash_string(source));

	map_each(&o->kernel_places, hash, i) {
		struct occa_kernel_use *k = &o->kernels[i - 1];

		if (strcmp(k->kernel, kernel) == 0 && strcmp(k->device, device) == 0 &&
		    strcmp(k->source, source) == 0)
			return k;
	}
	if (!vec_reserve(&o->kernels, &o->kernels_room, o->kernels_count, 1) ||
	    !map_add(&o->kernel_places, hash, o->kernels_count + 1)) {
		o->failed = true;
		return NULL;
	}
	o->kernels[o->kernels_count] =
		(struct occa_kernel_use){.device = device, .kernel = kernel, .source = source};
	return &o->kernels[o->kernels_count++];
}

static struct occa_device_use *device_of(struct occa_use *o, const char *device)
{
	uint64_t i, hash = hash_string(device);

	map_each(&o->device_places, hash, i) {
		if (strcmp(o->devices[i - 1].device, device) == 0)
			return &o->devices[i - 1];
	}
	if (!vec_reserve(&o->devices, &o->devices_room, o->devices_count, 1) ||
	    !map_add(&o->device_places, hash, o->devices_count + 1)) {
		o->failed = true;
		return NULL;
	}
	o->devices[o->devices_count] = (struct occa_device_use){.device = device, .mode = ""};
	return &o->devices[o->devices_count++];
}

static struct occa_memory_use *memory_of(struct occa_use *o, const struct occa_memory_use *like)
{
	uint64_t i, hash = hash_mix(hash_mix(hash_string(like->device), hash_string(like->what)),
				    hash_mix(like->bytes, like->site));

	map_each(&o->memory_places, hash, i) {
		struct occa_memory_use *m = &o->memory[i - 1];

		if (m->bytes == like->bytes && m->site == like->site &&
		    strcmp(m->device, like->device) == 0 && strcmp(m->what, like->what) == 0)
			return m;
	}
	if (!vec_reserve(&o->memory, &o->memory_room, o->memory_count, 1) ||
	    !map_add(&o->memory_places, hash, o->memory_count + 1)) {
		o->failed = true;
		return NULL;
	}
	o->memory[o->memory_count] = *like;
	return &o->memory[o->memory_count++];
}

/* ---- calls ---- */

struct arguments {
	const char *device, *kernel, *source, *mode, *what;
	uint64_t bytes, lifetime;
	bool none; /* there are no arguments */
};

static void take(struct arguments *a, const struct trace *t, const char *name, uint64_t value)
{
	const struct {
		const char *name;
		const char **text;
		uint64_t *number;
	} known[] = {{"device", &a->device, NULL},    {"kernel", &a->kernel, NULL},
		     {"source", &a->source, NULL},    {"mode", &a->mode, NULL},
		     {"what", &a->what, NULL},        {"bytes", NULL, &a->bytes},
		     {"lifetime", NULL, &a->lifetime}};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(name, known[i].name) != 0)
			continue;
		if (known[i].number)
			*known[i].number = value;
		else if (value < t->strings_count && t->strings[value].text)
			*known[i].text = t->strings[value].text;
		return;
	}
}

static void read_arguments(struct arguments *a, const struct trace *t, const struct rec *r)
{
	const struct t_field *field;
	struct rec_fields fields;
	struct wire_value value;

	*a = (struct arguments){"", "", "", "", "", 0, 0, true};
	if (!r->wire)
		return;
	rec_fields_init(&fields, t, r);
	while (rec_fields_next(&fields, &field, &value)) {
		if (!value.present)
			continue;
		a->none = false;
		take(a, t, field->name, value.u);
	}
}

static void add_run(struct occa_use *o, struct occa_device_use *d, const struct arguments *a,
		    uint64_t ns)
{
	struct occa_kernel_use *k = occa_use_kernel(o, a->device, a->kernel, a->source);

	d->launches++;
	d->launch_ns += ns;
	if (!k)
		return;
	k->launches++;
	k->host_ns += ns;
}

static void add_birth(struct occa_use *o, const struct arguments *a, const struct rec *r,
		      uint32_t device)
{
	const struct occa_memory_use like = {
		.device = a->device, .what = a->what, .bytes = a->bytes, .site = r->site};
	struct occa_memory_use *m = memory_of(o, &like);

	if (!m)
		return;
	m->buffers++;
	if (!vec_reserve(&o->births, &o->births_room, o->births_count, 1)) {
		o->failed = true;
		return;
	}
	o->births[o->births_count++] = (struct occa_birth){.lifetime = a->lifetime,
							   .time = r->start,
							   .process = r->process,
							   .memory = (uint32_t)(m - o->memory),
							   .device = device};
}

static void add_death(struct occa_use *o, const struct arguments *a, const struct rec *r)
{
	if (!vec_reserve(&o->deaths, &o->deaths_room, o->deaths_count, 1)) {
		o->failed = true;
		return;
	}
	o->deaths[o->deaths_count++] = (struct occa_death){a->lifetime, r->start, r->process};
}

void occa_use_call_wanted(struct occa_use *o, const struct rec *r)
{
	uint64_t ns = r->end > r->start ? (uint64_t)(r->end - r->start) : 0;
	struct occa_device_use *d;
	struct arguments a;

	read_arguments(&a, o->trace, r);
	if (a.none) /* an exception has left it */
		return;
	d = device_of(o, a.device);
	if (!d)
		return;
	d->mode = *a.mode ? a.mode : d->mode;
	switch (o->op_is[r->op]) {
	case RUN:
		add_run(o, d, &a, ns);
		break;
	case BUILD:
		d->builds++;
		d->build_ns += ns;
		break;
	case COPY_FROM:
		d->copies++;
		d->to_device += a.bytes;
		break;
	case COPY_TO:
		d->copies++;
		d->from_device += a.bytes;
		break;
	case BORN:
		add_birth(o, &a, r, (uint32_t)(d - o->devices));
		break;
	case DIES:
		add_death(o, &a, r);
		break;
	default:
		break;
	}
}

/* ---- the end ---- */

/* What is in use changes; records come thread by thread. */
struct change {
	int64_t time;
	uint64_t bytes;
	uint32_t device;
	bool less;
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (int)y->less - (int)x->less;
}

static void add_up(struct occa_use *o, struct change *list, uint32_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), by_time);
	for (uint32_t i = 0; i < count; i++) {
		struct occa_device_use *d = &o->devices[list[i].device];

		if (list[i].less) {
			d->freed += list[i].bytes;
			continue;
		}
		d->allocated += list[i].bytes;
		if (d->allocated - d->freed > d->peak)
			d->peak = d->allocated - d->freed;
	}
}

/* Memory of the program's own that it wrapped is none of the device's. */
static bool counts(const struct occa_memory_use *m)
{
	return strcmp(m->what, "wrapped") != 0;
}

static uint64_t key_of(uint32_t process, uint64_t lifetime)
{
	return hash_mix(hash_u64(lifetime), process);
}

static uint32_t end_lives(struct occa_use *o, struct map *lives, struct change *list, uint32_t n)
{
	for (uint32_t i = 0; i < o->deaths_count; i++) {
		const struct occa_death *x = &o->deaths[i];
		uint64_t at = map_get(lives, key_of(x->process, x->lifetime));
		const struct occa_birth *b = at ? &o->births[at - 1] : NULL;

		if (!b || b->process != x->process || b->lifetime != x->lifetime)
			continue;
		o->memory[b->memory].freed++;
		if (counts(&o->memory[b->memory]))
			list[n++] = (struct change){x->time, o->memory[b->memory].bytes, b->device,
						    true};
	}
	return n;
}

void occa_use_finish(struct occa_use *o)
{
	size_t most = (size_t)o->births_count + o->deaths_count;
	struct change *list = most ? calloc(most, sizeof(*list)) : NULL;
	struct map lives = {0};
	uint32_t n = 0;

	if (!list) {
		o->failed |= most != 0;
		return;
	}
	for (uint32_t i = 0; i < o->births_count; i++) {
		const struct occa_birth *b = &o->births[i];

		if (!map_set(&lives, key_of(b->process, b->lifetime), i + 1u))
			o->failed = true;
		if (counts(&o->memory[b->memory]))
			list[n++] = (struct change){b->time, o->memory[b->memory].bytes, b->device,
						    false};
	}
	n = end_lives(o, &lives, list, n);
	add_up(o, list, n);
	map_release(&lives);
	free(list);
}
