/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Kymo's own files say beyond what the format has members for: ranks of processes, communicators, messages,
 * work that has no times of its device or never finished.
 */
#include <limits.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/chrome/reader.h"
#include "record/fields.h"
#include "record/value.h"
#include "wire/defs.h"

/* The number that has this name in the set; `otherwise` if none of those below `most` has. */
static uint32_t value_named(enum record_set set, struct span name, uint32_t most,
			    uint32_t otherwise)
{
	if (!span_is_string(name))
		return otherwise;
	name = (struct span){name.s + 1, name.n - 2};
	for (uint32_t i = 0; i < most; i++)
		if (span_is(name, record_value_name(set, i)))
			return i;
	return otherwise;
}

static int32_t rank_of(const struct event *e, const char *name)
{
	struct span value;
	int64_t v;

	return event_arg(e, name, &value) && span_signed(value, &v) && v >= 0 && v <= INT32_MAX
		       ? (int32_t)v
		       : -1;
}

/* The strings may move while one is added: its text is looked up only when its number is known. */
static const char *text_arg(struct reader *r, const struct event *e, const char *name,
			    const char *otherwise)
{
	struct span value;
	uint32_t string;

	if (!event_arg(e, name, &value))
		return otherwise;
	string = reader_string(r, value);
	return keyed_string(&r->keyed, string);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

void reader_label_process(struct reader *r, const struct event *e)
{
	int32_t rank = rank_of(e, "rank"), ranks = rank_of(e, "ranks"),
		level = rank_of(e, "thread level");
	struct span device;
	struct t_process *p;
	uint32_t process;

	if (event_arg(e, "kymo device", &device) &&
	    !map_set(&r->device_rows, reader_process_key(e->pid), 1))
		r->failed = true;
	if (rank < 0)
		return;
	process = reader_process(r, e->pid);
	p = &r->t->processes[process];
	p->rank = (uint32_t)rank;
	p->ranks = ranks > 0 ? (uint32_t)ranks : 0;
	p->thread_level = level <= 3 ? level : -1;
	p->rank_stage = (uint32_t)reader_unsigned(r, e, "rank stage");
	p->rank_by = text_arg(r, e, "rank by", p->rank_by);
	p->mpi = text_arg(r, e, "mpi", p->mpi);
}

/* ---- rows of devices ------------------------------------------------------------------------- */

static struct span arg_of(const struct event *e, const char *name)
{
	struct span value;

	return event_arg(e, name, &value) ? value : (struct span){"", 0};
}

uint32_t reader_named_process(struct reader *r, const struct event *e)
{
	struct span pid = arg_of(e, "kymo process");

	return pid.n ? reader_process(r, pid) : 0;
}

uint32_t reader_row_thread(struct reader *r, const struct event *e)
{
	uint64_t row = reader_process_key(e->pid), name = map_get(&r->rows, row);
	struct span pid = arg_of(e, "kymo process");

	if (!pid.n || !map_get(&r->device_rows, row))
		return reader_thread(r, e->pid, e->tid);
	if (name && !map_set(&r->rows, reader_row_key(pid, e->pid), name))
		r->failed = true;
	return reader_thread(r, pid, e->pid);
}

void reader_label_counter(struct reader *r, const struct event *e)
{
	struct device_counter c = {0};
	struct place place = {0};
	struct span pid = arg_of(e, "process"), tid = arg_of(e, "thread");

	place.has_device = span_signed(arg_of(e, "device"), &place.device) && place.device >= 0;
	if (!place.has_device || !pid.n)
		return;
	c.process = reader_process(r, pid);
	c.thread = tid.n ? reader_thread(r, pid, tid) : 0;
	c.agent = reader_agent(r, c.process, &place);
	if (!vec_reserve(&r->device_counters, &r->device_counter_room, r->device_counter_count,
			 1) ||
	    !map_set(&r->device_counter_names,
		     reader_counter_key(e->pid, arg_of(e, "name"), arg_of(e, "id")),
		     r->device_counter_count + 1u))
		r->failed = true;
	else
		r->device_counters[r->device_counter_count++] = c;
}

struct device_counter reader_whose_counter(struct reader *r, const struct event *e)
{
	uint64_t known =
		map_get(&r->device_counter_names, reader_counter_key(e->pid, e->name, e->id));

	if (known)
		return r->device_counters[known - 1];
	return (struct device_counter){.process = reader_process(r, e->pid),
				       .thread = reader_thread(r, e->pid, e->tid)};
}

/* ---- communicators --------------------------------------------------------------------------- */

static uint64_t communicator_key(uint32_t process, uint64_t id)
{
	return hash_mix(hash_u64(process), id);
}

void reader_communicator(struct reader *r, const struct event *e)
{
	uint32_t process = reader_process(r, e->pid);
	struct t_communicator c = {.process = process,
				   .id = (uint32_t)reader_unsigned(r, e, "id"),
				   .kind = (uint32_t)reader_unsigned(r, e, "kind"),
				   .size = (uint32_t)reader_unsigned(r, e, "size"),
				   .remote_size = (uint32_t)reader_unsigned(r, e, "remote size"),
				   .key = reader_unsigned(r, e, "key"),
				   .handle = reader_unsigned(r, e, "handle"),
				   .own_rank = (uint32_t)(rank_of(e, "own rank") + 1),
				   .name = ""};
	uint64_t key = communicator_key(process, c.id);

	if (map_get(&r->communicators, key) || c.kind > COMMUNICATOR_FILE) {
		reader_leave_out(r, "%s of no kind, or that are there already", "communicators",
				 13);
		return;
	}
	c.name = text_arg(r, e, "name", c.name);
	if (!map_set(&r->communicators, key, r->t->communicators_count))
		r->failed = true;
	*trace_add(r->t, communicators) = c;
}

/* ---- messages -------------------------------------------------------------------------------- */

bool reader_is_message(const struct event *e)
{
	struct span value;
	uint64_t v;

	return e->phase == 'b' && span_is(e->category, "\"comm\"") &&
	       event_arg(e, "sent", &value) && span_unsigned(value, &v) &&
	       event_arg(e, "received", &value) && span_unsigned(value, &v);
}

static uint32_t op_of(const struct event *e)
{
	static const char *const ops[] = {"send", "receive",    "collective", "put",
					  "get",  "accumulate", "read",       "write"};
	if (!span_is_string(e->name))
		return COMM_OP_COLLECTIVE;
	for (uint32_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (span_is((struct span){e->name.s + 1, e->name.n - 2}, ops[i]))
			return i;
	return COMM_OP_COLLECTIVE;
}

void reader_message(struct reader *r, const struct event *e)
{
	uint32_t process = reader_process(r, e->pid);
	struct message_details d = {.op = op_of(e),
				    .peer = rank_of(e, "peer"),
				    .tag = rank_of(e, "tag"),
				    .correlation = reader_unsigned(r, e, "correlation"),
				    .sent = reader_unsigned(r, e, "sent"),
				    .received = reader_unsigned(r, e, "received"),
				    .completed_by = reader_unsigned(r, e, "completed by"),
				    .request = reader_unsigned(r, e, "request"),
				    .probe = reader_unsigned(r, e, "probe"),
				    .partitions = (uint32_t)reader_unsigned(r, e, "partitions"),
				    .external = reader_unsigned(r, e, "External id")};
	uint64_t id = reader_unsigned(r, e, "communicator id");
	struct span value;
	struct entry *x;

	if (event_arg(e, "datatype", &value))
		d.datatype = reader_string(r, value);
	if (event_arg(e, "state", &value))
		d.state = value_named(RECORD_SET_comm_state, value, COMM_LEFT + 1, 0);
	d.communicator = (uint32_t)map_get(&r->communicators, communicator_key(process, id));
	x = reader_add_entry(r, e, ENTRY_MESSAGE_BEGIN);
	x->thread = reader_thread(r, e->pid, e->tid);
	x->details = reader_put_details(r, &d, sizeof(d));
	x->key = reader_async_key(r, e);
	r->messages++;
}

static uint64_t number_of_call(const struct reader *r, uint32_t process, uint64_t key)
{
	uint32_t call = key ? reader_call(r, process, key) : 0;

	return call ? r->entries[call - 1].key : 0;
}

kymo_status_t reader_emit_message(struct reader *r, const struct entry *e, struct rec base,
				  struct stream_sink *sink)
{
	const struct message_details *d = message_of(r, e);
	struct rec_comm m = {.base = base,
			     .correlation = number_of_call(r, base.process, d->correlation),
			     .completed_by = number_of_call(r, base.process, d->completed_by),
			     .probe = number_of_call(r, base.process, d->probe),
			     .communicator = d->communicator,
			     .peer = d->peer,
			     .tag = d->tag,
			     .sent = d->sent,
			     .received = d->received,
			     .datatype = d->datatype,
			     .request = d->request,
			     .state = (uint8_t)d->state,
			     .partitions = d->partitions};

	m.base.external = d->external;
	m.base.op = make_activity(&r->model, RECORD_DOMAIN_comm, d->op);
	return sink->comm(sink, &m);
}

/* ---- work without times ---------------------------------------------------------------------- */

void reader_take_untimed(const struct event *e, struct device_details *d)
{
	struct span value;
	uint64_t v;

	d->untimed = UNTIMED_NOT_REPORTED;
	if (event_arg(e, "untimed", &value))
		d->untimed = (uint8_t)value_named(RECORD_SET_untimed_reason, value,
						  UNTIMED_IN_BUFFER + 1, UNTIMED_NOT_REPORTED);
	d->unfinished = event_arg(e, "unfinished", &value) && span_unsigned(value, &v) && v;
}

static void list_unfinished(struct reader *r, struct entry *e)
{
	const struct device_details *d = device_of(r, e);
	const struct placed *p = placed_of(r, e);
	bool kernel = e->kind == ENTRY_DISPATCH;
	uint32_t op = make_activity(&r->model, kernel ? RECORD_DOMAIN_dispatch : RECORD_DOMAIN_copy,
				    kernel ? DISPATCH_OP_KERNEL : d->op);
	uint32_t agent = p->agent;

	if (!kernel && !agent)
		agent = p->destination_agent ? p->destination_agent : p->source_agent;
	e->kind = ENTRY_UNFINISHED;
	e->number = r->t->unfinished_count;
	*trace_add(r->t, unfinished) =
		(struct t_unfinished){.process = p->process,
				      .thread = e->thread,
				      .op = op,
				      .agent = agent,
				      .queue = p->queue,
				      .kernel = p->kernel,
				      .id = e->up ? r->entries[e->up - 1].key : 0,
				      .bytes = kernel ? d->bytes : p->bytes,
				      .submit = e->start + r->shift};
}

static void list_open_call(struct reader *r, struct entry *e)
{
	e->kind = ENTRY_OPEN_CALL;
	e->number = r->t->open_calls_count;
	*trace_add(r->t, open_calls) = (struct t_open_call){.thread = e->thread,
							    .op = details_of(r, e)->op,
							    .id = e->key,
							    .start = e->start + r->shift};
}

void reader_list_under_way(struct reader *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		struct entry *e = &r->entries[i];

		if (e->kind == ENTRY_CALL && e->left_open)
			list_open_call(r, e);
		else if ((e->kind == ENTRY_DISPATCH || e->kind == ENTRY_COPY) &&
			 device_of(r, e)->unfinished)
			list_unfinished(r, e);
	}
}

/* ---- what is told ---------------------------------------------------------------------------- */

void reader_tell_ranks(const struct reader *r)
{
	bool ranks = false, mpi = false;

	for (uint32_t i = 1; i < r->t->processes_count; i++)
		ranks |= r->t->processes[i].rank != UINT32_MAX;
	for (uint32_t i = 1; i < r->t->ops_count; i++)
		mpi |= strncmp(r->t->ops[i].name, "MPI_", 4) == 0;
	if (mpi && !r->messages)
		stream_warn(r->o->log,
			    "%s: it has calls of MPI, and neither messages%s: the format has no "
			    "members for them, only Kymo's own files tell them",
			    r->source.path, ranks ? "" : " nor ranks");
}
