/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of a trace that is written anew. Ids are the indexes of the trace that is read, but of
 * communicators, whose ids are shown: each process defines what is its own, and of what all share
 * (operations, texts) what its records refer to.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KYMO_MARKER_LINKED /* its types alone */
#include <kymo/marker.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/raw/internal.h"
#include "formats/raw/writer.h"
#include "stream/names.h"

enum shared { SHARED_DOMAIN = 1, SHARED_SET, SHARED_OP, SHARED_STRING };

/* True the first time: it is to be defined. */
static bool first_time(struct raw_writer *w, struct raw_out *p, enum shared what, uint64_t key)
{
	key = key << 3 | (uint64_t)what;
	if (map_get(&p->defined, key))
		return false;
	if (!map_set(&p->defined, key, 1))
		return raw_out_failed(w, w->directory, ENOMEM);
	return true;
}

/* ---- numbers of ops on the wire -------------------------------------------------------------- */

/* The record model's domain of that name, or of which it is another name; NULL: none. */
static const kymo_domain_desc_t *model_domain(const char *name)
{
	if (strcmp(name, "telemetry") == 0)
		name = "counter";
	for (uint32_t i = 0; i < RECORD_PACKED->domain_count; i++) {
		const kymo_domain_desc_t *d = packed_describe(RECORD_PACKED, i);

		if (d && strcmp(d->name, name) == 0)
			return d;
	}
	return NULL;
}

static void find_model(const struct trace *t, uint32_t op, struct raw_out_op *out)
{
	const struct t_op *o = &t->ops[op];
	const char *domain = t->domains[o->domain].name;
	enum raw_kind kind = raw_kind_of_domain(domain);
	const kymo_domain_desc_t *d = kind == RAW_KIND_CALL ? NULL : model_domain(domain);

	*out = (struct raw_out_op){.kind = RAW_KIND_OTHER};
	for (uint32_t i = 0; d && i < d->op_count; i++) {
		if (strcmp(d->ops[i].name, o->name) != 0)
			continue;
		if (kind == RAW_KIND_OTHER || (kind == RAW_KIND_MARKER && !raw_op_is_marker(o)))
			return;
		*out = (struct raw_out_op){kind, &d->ops[i], i};
	}
}

/* So many numbers a domain needs: its ops have those that they had. */
static bool count_numbers(const struct trace *t, uint64_t *numbers)
{
	uint64_t all = 1; /* 0 is none */

	for (uint32_t i = 1; i < t->ops_count; i++) {
		const struct t_op *o = &t->ops[i];

		if (o->number >= numbers[o->domain])
			numbers[o->domain] = (uint64_t)o->number + 1;
	}
	for (uint32_t d = 0; d < t->domains_count; d++) {
		uint64_t n = numbers[d];

		numbers[d] = all;
		all += n;
	}
	return all <= UINT16_MAX;
}

bool raw_out_number_ops(struct raw_writer *w)
{
	const struct trace *t = w->t;
	uint64_t *bases = calloc(t->domains_count, sizeof(*bases));

	w->ops = calloc(t->ops_count, sizeof(*w->ops));
	w->wire_ops = calloc(t->ops_count, sizeof(*w->wire_ops));
	if (!bases || !w->ops || !w->wire_ops) {
		free(bases);
		return raw_out_failed(w, w->directory, ENOMEM);
	}
	if (!count_numbers(t, bases)) {
		free(bases);
		stream_error(w->log,
			     "%s: more than 65,535 operations: a trace has no numbers for so many",
			     t->path);
		w->failed = true;
		return false;
	}
	for (uint32_t i = 1; i < t->ops_count; i++) {
		find_model(t, i, &w->ops[i]);
		w->wire_ops[i] = (uint16_t)(bases[t->ops[i].domain] + t->ops[i].number);
	}
	free(bases);
	return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void pack(struct text *out, uint64_t v, unsigned bytes)
{
	text_add_bytes(out, (const char *)&v, bytes);
}

static void pack_text(struct text *out, const char *s)
{
	size_t n = strlen(s ? s : "");

	n = n < UINT16_MAX ? n : UINT16_MAX;
	pack(out, n, 2);
	text_add_bytes(out, s ? s : "", n);
}

/* A set by where it is, which stays. 0: none. */
static uint64_t define_set(struct raw_writer *w, struct raw_out *p, const void *identity,
			   const char *name, const kymo_enum_value_t *values, uint32_t count)
{
	uint64_t id = (uintptr_t)identity >> 3 & UINT32_MAX;
	struct text packed = {0};
	struct wire_def d;

	if (!identity)
		return 0;
	if (!first_time(w, p, SHARED_SET, (uintptr_t)identity))
		return id;
	for (uint32_t i = 0; i < count; i++) {
		pack(&packed, (uint64_t)values[i].value, 8);
		pack_text(&packed, values[i].name);
	}
	wire_def_init(&d, DEF_ENUM_SET);
	wire_def_u64(&d, id);
	wire_def_string(&d, name);
	wire_def_bytes(&d, packed.s ? packed.s : "", packed.length);
	raw_out_define(w, p, &d);
	text_release(&packed);
	return id;
}

static uint64_t define_own_set(struct raw_writer *w, struct raw_out *p, const struct t_enum_set *s)
{
	return s ? define_set(w, p, s, s->name, s->values, s->count) : 0;
}

static void pack_field(struct text *out, const kymo_field_t *f, uint64_t set)
{
	pack(out, f->kind, 1);
	pack(out, f->element, 1);
	pack(out, f->size, 1);
	pack(out, f->flags, 1);
	pack(out, set, 4);
	pack_text(out, f->name);
	pack_text(out, f->type);
}

static void pack_model(struct raw_writer *w, struct raw_out *p, const kymo_op_desc_t *op,
		       struct text *out)
{
	for (uint32_t i = 0; i < op->field_count; i++) {
		const kymo_enum_set_t *s = op->fields[i].set;

		pack_field(out, &op->fields[i],
			   s ? define_set(w, p, s, s->name, s->values, s->count) : 0);
	}
}

static void pack_own(struct raw_writer *w, struct raw_out *p, const struct t_op *op,
		     struct text *out)
{
	for (uint32_t i = 0; i < op->field_count; i++) {
		const struct t_field *f = &op->fields[i];
		const kymo_field_t as = {.name = f->name,
					 .type = f->type,
					 .kind = f->kind,
					 .element = f->element,
					 .size = f->size,
					 .flags = f->flags};

		pack_field(out, &as, define_own_set(w, p, f->set));
	}
}

static void define_domain(struct raw_writer *w, struct raw_out *p, uint32_t domain, uint32_t base)
{
	const struct t_domain *x = &w->t->domains[domain];
	struct wire_def d;

	if (!first_time(w, p, SHARED_DOMAIN, domain))
		return;
	wire_def_init(&d, DEF_DOMAIN);
	wire_def_u64(&d, domain);
	wire_def_string(&d, x->name);
	wire_def_string(&d, x->title);
	wire_def_u64(&d, base);
	raw_out_define(w, p, &d);
}

bool raw_out_op(struct raw_writer *w, uint32_t process, uint32_t op)
{
	const struct t_op *o = &w->t->ops[op];
	const kymo_op_desc_t *model = w->ops[op].model;
	struct raw_out *p = &w->processes[process];
	struct text packed = {0};
	struct wire_def d;

	if (!first_time(w, p, SHARED_OP, op))
		return !w->failed;
	define_domain(w, p, o->domain, w->wire_ops[op] - o->number);
	if (model)
		pack_model(w, p, model, &packed);
	else
		pack_own(w, p, o, &packed);
	wire_def_init(&d, DEF_OP);
	wire_def_u64(&d, w->wire_ops[op]);
	wire_def_string(&d, o->name);
	wire_def_u64(&d, o->flags);
	wire_def_u64(&d, define_own_set(w, p, o->status_set));
	wire_def_u64(&d, model ? model->field_count : o->field_count);
	wire_def_bytes(&d, packed.s ? packed.s : "", packed.length);
	wire_def_u64(&d, (uint64_t)(int64_t)o->status_ok);
	wire_def_u64(&d, o->domain);
	raw_out_define(w, p, &d);
	text_release(&packed);
	return !w->failed;
}

bool raw_out_string(struct raw_writer *w, uint32_t process, uint32_t string)
{
	struct raw_out *p = &w->processes[process];
	const struct t_string *s = &w->t->strings[string];
	struct wire_def d;

	if (!string || !first_time(w, p, SHARED_STRING, string))
		return !w->failed;
	wire_def_init(&d, DEF_STRING);
	wire_def_u64(&d, string);
	wire_def_bytes(&d, s->text, s->length);
	wire_def_u64(&d, s->total);
	return raw_out_define(w, p, &d);
}

/* ---- the process ----------------------------------------------------------------------------- */

/* Words of a shell's line, as the reader has joined them, each followed by NUL. */
static void split_words(const char *line, struct text *out)
{
	bool quoted = false;

	if (!*line)
		return;
	for (const char *p = line; *p; p++) {
		if (*p == '\'')
			quoted = !quoted;
		else if (*p == '\\' && !quoted && p[1])
			text_add_bytes(out, ++p, 1);
		else
			text_add_bytes(out, *p == ' ' && !quoted ? "" : p, 1);
	}
	text_add_bytes(out, "", 1);
}

static void define_process(struct raw_writer *w, uint32_t process)
{
	const struct t_process *x = &w->t->processes[process];
	struct text words = {0};
	struct wire_def d;

	split_words(x->argv, &words);
	wire_def_init(&d, DEF_PROCESS);
	wire_def_u64(&d, x->pid);
	wire_def_u64(&d, x->ppid);
	wire_def_string(&d, x->exe);
	wire_def_bytes(&d, words.s ? words.s : "", words.length);
	wire_def_string(&d, x->cwd);
	wire_def_string(&d, x->hostname);
	wire_def_u64(&d, 1); /* a tick is a nanosecond, and as uncertain as it was */
	wire_def_u64(&d, 1000000000);
	wire_def_u64(&d, (uint64_t)x->start_realtime);
	wire_def_u64(&d, (uint64_t)x->start);
	wire_def_u64(&d, (uint64_t)x->start);
	wire_def_string(&d, "");
	wire_def_u64(&d, 0);
	wire_def_string(&d, x->version);
	wire_def_u64(&d, x->arg_level);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, x->telemetry ? PROCESS_TELEMETRY : PROCESS_TRACED);
	raw_out_define(w, &w->processes[process], &d);
	text_release(&words);
}

static void define_name(struct raw_writer *w, uint32_t process, uint32_t what, const char *domain,
			uint64_t handle, const char *name)
{
	struct wire_def d;

	if (!name || !*name)
		return;
	wire_def_init(&d, DEF_NAME);
	wire_def_u64(&d, what);
	wire_def_string(&d, domain);
	wire_def_u64(&d, handle);
	wire_def_string(&d, name);
	wire_def_u64(&d, (uint64_t)w->t->processes[process].start);
	raw_out_define(w, &w->processes[process], &d);
}

static void define_rank(struct raw_writer *w, uint32_t process)
{
	const struct t_process *x = &w->t->processes[process];
	struct wire_def d;

	if (x->rank == UINT32_MAX || strcmp(x->rank_by, "MPI") != 0)
		return;
	wire_def_init(&d, DEF_RANK);
	wire_def_u64(&d, x->rank);
	wire_def_u64(&d, x->ranks);
	wire_def_string(&d, x->mpi);
	wire_def_string(&d, "");
	wire_def_u64(&d, (uint64_t)x->thread_level + 1);
	wire_def_u64(&d, (uint64_t)x->start);
	wire_def_string(&d, x->job);
	wire_def_u64(&d, x->rank_stage);
	raw_out_define(w, &w->processes[process], &d);
}

/* Its times are those of the job already. */
static void define_alignment(struct raw_writer *w, uint32_t process)
{
	const struct t_process *x = &w->t->processes[process];
	struct wire_def d;

	if (!x->aligned)
		return;
	wire_def_init(&d, DEF_JOB_CLOCK);
	wire_def_u64(&d, (uint64_t)x->start);
	wire_def_u64(&d, (uint64_t)x->start);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, (uint64_t)x->job_error_ns);
	wire_def_u64(&d, JOB_CLOCK_SAME);
	raw_out_define(w, &w->processes[process], &d);
}

static void define_recording(struct raw_writer *w, uint32_t process, bool on, int64_t at)
{
	struct wire_def d;

	wire_def_init(&d, DEF_RECORDING);
	wire_def_u64(&d, on);
	wire_def_u64(&d, (uint64_t)at);
	raw_out_define(w, &w->processes[process], &d);
}

static void define_pauses(struct raw_writer *w, uint32_t process)
{
	const struct t_process *x = &w->t->processes[process];
	bool first = true;

	for (uint32_t i = 0; i < w->t->pauses_count; i++) {
		const struct t_pause *pause = &w->t->pauses[i];

		if (pause->process != process)
			continue;
		if (first && pause->start > x->start)
			define_recording(w, process, true, 0);
		if (!first || pause->start > x->start)
			define_recording(w, process, false, pause->start);
		if (pause->end < (x->end ? x->end : x->seen))
			define_recording(w, process, true, pause->end);
		first = false;
	}
}

/* ---- its things ------------------------------------------------------------------------------ */

static void define_thread(struct raw_writer *w, uint32_t i)
{
	const struct t_thread *x = &w->t->threads[i];
	struct wire_def d;

	wire_def_init(&d, DEF_THREAD);
	wire_def_u64(&d, i);
	wire_def_u64(&d, x->tid);
	wire_def_string(&d, x->name);
	wire_def_u64(&d, (uint64_t)x->start);
	wire_def_u64(&d, x->main);
	wire_def_u64(&d, x->own);
	raw_out_define(w, &w->processes[x->process], &d);
}

/* Two readings that lie as far apart as the mapping was uncertain: device times are node time already. */
static void define_clock(struct raw_writer *w, uint32_t i)
{
	const struct t_clock *x = &w->t->clocks[i];
	const struct t_process *of = &w->t->processes[x->process];
	const int64_t at[] = {of->start, of->end > of->start ? of->end : of->start + 1};
	struct raw_out *p = &w->processes[x->process];
	struct wire_def d;

	wire_def_init(&d, DEF_CLOCK);
	wire_def_u64(&d, i);
	wire_def_string(&d, x->name);
	wire_def_string(&d, "device");
	wire_def_u64(&d, 1000);
	raw_out_define(w, p, &d);
	for (size_t k = 0; x->error_ns >= 0 && k < 2; k++) {
		wire_def_init(&d, DEF_CLOCK_SYNC);
		wire_def_u64(&d, i);
		wire_def_u64(&d, (uint64_t)(at[k] - (int64_t)x->error_ns));
		wire_def_u64(&d, (uint64_t)(at[k] + (int64_t)x->error_ns));
		wire_def_u64(&d, (uint64_t)at[k]);
		wire_def_u64(&d, 1);
		wire_def_u64(&d, CLOCK_SYNC_NODE_TIME);
		raw_out_define(w, p, &d);
	}
}

static void define_agent(struct raw_writer *w, uint32_t i)
{
	const struct t_agent *x = &w->t->agents[i];
	bool aligned = x->clock && w->t->clocks[x->clock].error_ns >= 0;
	struct wire_def d;

	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, i);
	wire_def_string(&d, x->type);
	wire_def_string(&d, x->name);
	wire_def_string(&d, x->vendor);
	wire_def_string(&d, x->driver);
	wire_def_string(&d, x->domain);
	wire_def_u64(&d, x->handle);
	wire_def_u64(&d, x->parent);
	wire_def_string(&d, x->properties);
	wire_def_u64(&d, aligned ? x->clock : 0);
	wire_def_bytes(&d, x->uuid, x->has_uuid ? sizeof(x->uuid) : 0);
	wire_def_string(&d, x->platform);
	raw_out_define(w, &w->processes[x->process], &d);
	define_name(w, x->process, KYMO_OBJECT_DEVICE, x->domain, x->handle, x->given);
}

static void define_context(struct raw_writer *w, uint32_t i)
{
	const struct t_device_context *x = &w->t->contexts[i];
	struct wire_def d;

	wire_def_init(&d, DEF_DEVICE_CONTEXT);
	wire_def_u64(&d, i);
	wire_def_string(&d, x->domain);
	wire_def_u64(&d, x->handle);
	raw_out_define(w, &w->processes[x->process], &d);
	define_name(w, x->process, KYMO_OBJECT_CONTEXT, x->domain, x->handle, x->name);
}

static void define_queue(struct raw_writer *w, uint32_t i)
{
	const struct t_queue *x = &w->t->queues[i];
	struct wire_def d;

	wire_def_init(&d, DEF_QUEUE);
	wire_def_u64(&d, i);
	wire_def_string(&d, x->domain);
	wire_def_u64(&d, x->handle);
	wire_def_u64(&d, x->agent);
	wire_def_u64(&d, x->context);
	wire_def_u64(&d, x->properties);
	wire_def_u64(&d, x->flags);
	wire_def_u64(&d, 0);
	wire_def_string(&d, x->name);
	raw_out_define(w, &w->processes[x->process], &d);
}

static void define_blob(struct raw_writer *w, uint32_t i)
{
	const struct t_blob *x = &w->t->blobs[i];

	for (uint64_t at = 0; at < x->stored || at == 0; at += DEF_BLOB_PIECE) {
		uint64_t left = x->stored - at;
		struct wire_def d;

		wire_def_init(&d, DEF_BLOB);
		wire_def_u64(&d, i);
		wire_def_string(&d, x->what);
		wire_def_u64(&d, at);
		wire_def_u64(&d, x->total);
		wire_def_bytes(&d, x->data + at, left < DEF_BLOB_PIECE ? left : DEF_BLOB_PIECE);
		wire_def_u64(&d, x->stored);
		raw_out_define(w, &w->processes[x->process], &d);
	}
}

static void define_program(struct raw_writer *w, uint32_t i)
{
	const struct t_program *x = &w->t->programs[i];
	struct wire_def d;

	wire_def_init(&d, DEF_PROGRAM);
	wire_def_u64(&d, i);
	wire_def_string(&d, x->domain);
	wire_def_u64(&d, x->handle);
	wire_def_u64(&d, x->context);
	wire_def_string(&d, x->kind);
	wire_def_u64(&d, x->source);
	wire_def_u64(&d, 0);
	wire_def_string(&d, x->name);
	raw_out_define(w, &w->processes[x->process], &d);
}

static void define_kernel(struct raw_writer *w, uint32_t i)
{
	const struct t_kernel *x = &w->t->kernels[i];
	struct wire_def d;

	wire_def_init(&d, DEF_KERNEL);
	wire_def_u64(&d, i);
	wire_def_string(&d, x->domain);
	wire_def_string(&d, x->name);
	wire_def_u64(&d, x->program);
	wire_def_u64(&d, x->handle);
	raw_out_define(w, &w->processes[x->process], &d);
}

static void define_module(struct raw_writer *w, uint32_t i)
{
	const struct t_module *x = &w->t->modules[i];
	struct wire_def d;

	wire_def_init(&d, DEF_MODULE);
	wire_def_u64(&d, x->start);
	wire_def_u64(&d, x->end);
	wire_def_u64(&d, x->bias);
	wire_def_string(&d, x->path);
	wire_def_bytes(&d, x->build_id ? x->build_id : (const uint8_t *)"", x->build_id_length);
	raw_out_define(w, &w->processes[x->process], &d);
}

static void define_site(struct raw_writer *w, uint32_t i)
{
	const struct t_site *x = &w->t->sites[i];
	struct wire_def d;

	wire_def_init(&d, DEF_SITE);
	wire_def_u64(&d, i);
	wire_def_u64(&d, x->address);
	if (x->function) {
		wire_def_string(&d, x->function);
		wire_def_string(&d, x->file ? x->file : "");
		wire_def_u64(&d, x->line);
	}
	raw_out_define(w, &w->processes[x->process], &d);
}

static void define_stack(struct raw_writer *w, uint32_t i)
{
	const struct t_stack *x = &w->t->stacks[i];
	struct text packed = {0};
	struct wire_def d;

	for (uint32_t k = 0; k < x->count; k++)
		pack(&packed, w->t->sites[x->sites[k]].address, 8);
	wire_def_init(&d, DEF_STACK);
	wire_def_u64(&d, i);
	wire_def_bytes(&d, packed.s ? packed.s : "", packed.length);
	wire_def_u64(&d, stack_end_named(x->end));
	raw_out_define(w, &w->processes[x->process], &d);
	text_release(&packed);
}

static void define_note(struct raw_writer *w, uint32_t i)
{
	const struct t_note *x = &w->t->notes[i];
	struct wire_def d;

	wire_def_init(&d, DEF_NOTE);
	wire_def_u64(&d, x->severity);
	wire_def_string(&d, x->part);
	wire_def_string(&d, x->text);
	wire_def_u64(&d, (uint64_t)x->time);
	wire_def_u64(&d, x->count);
	raw_out_define(w, &w->processes[x->process], &d);
}

static void define_communicator(struct raw_writer *w, uint32_t i)
{
	const struct t_communicator *x = &w->t->communicators[i];
	struct wire_def d;

	wire_def_init(&d, DEF_COMMUNICATOR);
	wire_def_u64(&d, x->id);
	wire_def_string(&d, x->name);
	wire_def_u64(&d, x->kind);
	wire_def_u64(&d, x->size);
	wire_def_bytes(&d, x->members, x->member_runs * sizeof(*x->members));
	wire_def_u64(&d, w->t->communicators[x->parent].id);
	wire_def_u64(&d, x->key);
	wire_def_u64(&d, x->handle);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, x->remote_size);
	wire_def_bytes(&d, x->remote, x->remote_runs * sizeof(*x->remote));
	wire_def_u64(&d, x->own_rank);
	raw_out_define(w, &w->processes[x->process], &d);
}

static void define_counter(struct raw_writer *w, uint32_t i)
{
	const struct t_counter *x = &w->t->counters[i];
	struct wire_def d;

	wire_def_init(&d, DEF_COUNTER);
	wire_def_u64(&d, i);
	wire_def_string(&d, x->name);
	wire_def_string(&d, x->unit);
	wire_def_string(&d, x->description);
	wire_def_string(&d, x->provider);
	wire_def_u64(&d, x->agent);
	wire_def_u64(&d, x->flags);
	wire_def_string(&d, x->dimensions);
	raw_out_define(w, &w->processes[x->process], &d);
}

static void define_code(struct raw_writer *w, uint32_t i)
{
	const struct t_code *x = &w->t->codes[i];
	struct wire_def d;

	wire_def_init(&d, DEF_CODE);
	wire_def_u64(&d, i);
	wire_def_string(&d, x->function);
	wire_def_string(&d, x->file);
	wire_def_u64(&d, x->line);
	wire_def_u64(&d, x->module);
	wire_def_u64(&d, x->offset);
	raw_out_define(w, &w->processes[x->process], &d);
}

static void define_place(struct raw_writer *w, uint32_t i)
{
	const struct t_place *x = &w->t->places[i];
	struct wire_def d;

	wire_def_init(&d, DEF_PLACE);
	wire_def_u64(&d, i);
	wire_def_u64(&d, x->program);
	wire_def_string(&d, x->function);
	wire_def_string(&d, x->what);
	wire_def_string(&d, x->kind);
	wire_def_u64(&d, x->block);
	wire_def_u64(&d, x->times);
	wire_def_u64(&d, x->bytes);
	wire_def_string(&d, x->file);
	wire_def_u64(&d, x->line);
	wire_def_u64(&d, x->column);
	raw_out_define(w, &w->processes[x->process], &d);
}

#define DEFINE_ALL(list, define)                                                                   \
	for (uint32_t i = 1; i < w->t->list##_count && !w->failed; i++)                            \
		if (w->processes[w->t->list[i].process].path[0])                                   \
	define(w, i)

static void define_things(struct raw_writer *w)
{
	DEFINE_ALL(threads, define_thread);
	DEFINE_ALL(clocks, define_clock);
	DEFINE_ALL(agents, define_agent);
	DEFINE_ALL(contexts, define_context);
	DEFINE_ALL(queues, define_queue);
	DEFINE_ALL(blobs, define_blob);
	DEFINE_ALL(programs, define_program);
	DEFINE_ALL(kernels, define_kernel);
	DEFINE_ALL(modules, define_module);
	DEFINE_ALL(sites, define_site);
	DEFINE_ALL(stacks, define_stack);
	DEFINE_ALL(notes, define_note);
	DEFINE_ALL(communicators, define_communicator);
	DEFINE_ALL(counters, define_counter);
	DEFINE_ALL(codes, define_code);
	DEFINE_ALL(places, define_place);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Part of the name of a file. */
static void host_word(const char *host, char out[64])
{
	snprintf(out, 64, "%s", *host ? host : "unknown");
	for (char *p = out; *p; p++)
		*p = *p == '/' || *p == '.' || (unsigned char)*p <= ' ' ? '_' : *p;
}

static bool create_file(struct raw_writer *w, uint32_t process, const struct raw_header *h)
{
	const struct t_process *x = &w->t->processes[process];
	struct raw_out *p = &w->processes[process];
	char host[64];
	int fd = -1;

	host_word(x->hostname, host);
	for (unsigned n = 0; fd < 0; n++) {
		if (snprintf(p->path, sizeof(p->path), "%s/raw/%s-%u-%u.kyr", w->directory, host,
			     x->pid, n) >= (int)sizeof(p->path))
			return raw_out_failed(w, w->directory, ENAMETOOLONG);
		fd = file_create_own(p->path, O_WRONLY);
		if (fd < 0 && errno != EEXIST)
			return raw_out_failed(w, p->path, errno);
	}
	if (file_write_all(fd, h, sizeof(*h)) != sizeof(*h))
		raw_out_failed(w, p->path, errno);
	if (close(fd) != 0)
		raw_out_failed(w, p->path, errno);
	return !w->failed;
}

static bool add_tick_point(struct raw_writer *w, uint32_t process, int64_t at)
{
	const struct t_process *x = &w->t->processes[process];
	const int64_t error = x->clock_error_ns > 0 ? (int64_t)x->clock_error_ns : 0;
	struct raw_block b = {.type = RAW_TICK_SYNC};
	const struct raw_tick_sync sync = {.before = (uint64_t)(at - error),
					   .after = (uint64_t)(at + error),
					   .monotonic_raw = (uint64_t)at,
					   .realtime = (uint64_t)at + (uint64_t)x->realtime_offset};

	return raw_out_block(w, &w->processes[process], &b, &sync, sizeof(sync));
}

static bool add_job(struct raw_writer *w, uint32_t process)
{
	const struct t_process *x = &w->t->processes[process];
	struct raw_block b = {.type = RAW_JOB};
	struct raw_job job = {.size = x->ranks};

	if (x->rank == UINT32_MAX)
		return true;
	snprintf((char *)job.by, sizeof(job.by), "%s", x->rank_by);
	return raw_out_block(w, &w->processes[process], &b, &job, sizeof(job));
}

static bool begin_process(struct raw_writer *w, uint32_t process)
{
	const struct t_process *x = &w->t->processes[process];
	struct raw_header h = {.magic = RAW_MAGIC,
			       .version = RAW_VERSION,
			       .header_size = sizeof(h),
			       .pid = x->pid,
			       .wire_version = WIRE_VERSION,
			       .created_realtime =
				       (uint64_t)x->start + (uint64_t)x->realtime_offset,
			       .rank = x->rank};

	snprintf((char *)h.hostname, sizeof(h.hostname), "%s", x->hostname);
	snprintf((char *)h.job, sizeof(h.job), "%s", x->job);
	if (!create_file(w, process, &h) || !add_tick_point(w, process, x->start) ||
	    !add_job(w, process))
		return false;
	define_process(w, process);
	define_name(w, process, KYMO_OBJECT_PROCESS, "", 0, x->telemetry ? NULL : x->name);
	define_rank(w, process);
	define_alignment(w, process);
	define_pauses(w, process);
	return !w->failed;
}

bool raw_out_begin(struct raw_writer *w)
{
	if (!raw_out_number_ops(w))
		return false;
	for (uint32_t i = 1; i < w->t->processes_count; i++)
		if (w->t->processes[i].file_state == FILE_READ && !begin_process(w, i))
			return false;
	define_things(w);
	return !w->failed;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void end_thread(struct raw_writer *w, struct raw_out *p, uint32_t thread)
{
	const struct raw_out_thread *own = &w->threads[thread];
	const struct t_thread *x = thread < w->t->threads_count ? &w->t->threads[thread] : NULL;
	struct wire_def d;

	if (!x)
		return;
	wire_def_init(&d, DEF_THREAD_END);
	wire_def_u64(&d, thread);
	wire_def_u64(&d, x->end ? (uint64_t)x->end : own->last);
	wire_def_u64(&d, own->records);
	wire_def_u64(&d, x->lost);
	wire_def_u64(&d, x->processor_ns);
	raw_out_define(w, p, &d);
}

/* A thread that is not known has no definition by its process: it is Kymo's own. */
static void define_nobody(struct raw_writer *w, uint32_t process)
{
	uint32_t thread = w->t->threads_count + process;
	struct wire_def d;

	if (!w->threads[thread].records)
		return;
	wire_def_init(&d, DEF_THREAD);
	wire_def_u64(&d, thread);
	wire_def_u64(&d, 0);
	wire_def_string(&d, "");
	wire_def_u64(&d, (uint64_t)w->t->processes[process].start);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 1);
	raw_out_define(w, &w->processes[process], &d);
}

static void define_overhead(struct raw_writer *w, uint32_t process)
{
	const struct t_process *x = &w->t->processes[process];
	struct wire_def d;

	wire_def_init(&d, DEF_OVERHEAD);
	wire_def_u64(&d, (uint64_t)(x->record_cost_ns * 1000));
	wire_def_u64(&d, (uint64_t)(x->overhead_ns + x->calls_cost_ns));
	wire_def_u64(&d, (uint64_t)x->loading_ns);
	raw_out_define(w, &w->processes[process], &d);
}

static void define_end(struct raw_writer *w, uint32_t process, uint64_t tick)
{
	const struct t_process *x = &w->t->processes[process];
	struct wire_def d;

	wire_def_init(&d, DEF_PROCESS_END);
	wire_def_u64(&d, 1);
	wire_def_u64(&d, tick);
	wire_def_u64(&d, x->lost_records);
	wire_def_u64(&d, x->lost_definitions);
	wire_def_u64(&d, x->untraced_calls);
	wire_def_u64(&d, x->untimed);
	raw_out_define(w, &w->processes[process], &d);
}

static struct raw_end end_of(const struct raw_writer *w, const struct t_process *x)
{
	return (struct raw_end){
		/* Of another tool nobody waits for more. */
		.how = x->how_ended == UINT32_MAX && w->origin ? RAW_END_STOPPED : x->how_ended,
		.status = x->exit_status,
		.tick = (uint64_t)(x->end ? x->end : w->last_end),
		.lost_records = x->lost_records,
		.lost_definitions = x->lost_definitions,
		.damaged_chunks = x->damaged_blocks,
		.overwritten_records = x->overwritten_records,
		.unwritten_records = x->unwritten_records,
		.waiting_ticks = (uint64_t)x->waiting_ns,
		.beside_ticks = (uint64_t)x->beside_ns,
		.drain_ns = (uint64_t)x->drain_ns,
		.no_memory_records = x->no_memory_records,
		.dropped_records = x->dropped_records,
		.user_ns = x->user_ns,
		.system_ns = x->system_ns,
		.resident_bytes = x->resident_bytes,
		.usage = x->usage,
		.delay_ns = x->delay_ns,
	};
}

bool raw_out_end(struct raw_writer *w, uint32_t process)
{
	const struct t_process *x = &w->t->processes[process];
	struct raw_out *p = &w->processes[process];
	const struct raw_end end = end_of(w, x);
	struct raw_block b = {.type = RAW_END};

	if (!p->path[0])
		return true;
	for (uint32_t i = p->first_thread; i; i = w->threads[i].next) {
		raw_out_flush_thread(w, process, i);
		end_thread(w, p, i);
	}
	define_nobody(w, process);
	raw_out_flush_thread(w, process, w->t->threads_count + process);
	define_overhead(w, process);
	if (end.how != UINT32_MAX)
		define_end(w, process, end.tick);
	return raw_out_under_way(w, process) && add_tick_point(w, process, (int64_t)end.tick) &&
	       (end.how == UINT32_MAX || raw_out_block(w, p, &b, &end, sizeof(end)));
}
