/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that calls of UCX and OpenSHMEM send, put and get become records of the domain "comm". A record
 * lasts as long as the call: when a transfer that goes on after it is complete is not told to whom called.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/exports/models.h"
#include "core/activity/comm.h"

struct move {
	uint32_t record;  /* COMM_OP_*, + 1; 0: moves nothing */
	uint32_t element; /* bytes, of OpenSHMEM */
	bool one;         /* one element, whose number no argument says */
};

struct mover {
	const struct table_model *model;
	struct move *moves; /* by op */
};
static struct mover ucx, openshmem;

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static const char *op_name(const struct mover *m, const struct table_call *c)
{
	return m->model->desc->ops[c->slot->cap->number].name;
}

static void write_move(const struct table_call *c, unsigned record, uint64_t bytes, int32_t peer,
		       int32_t tag)
{
	struct comm_transfer t = {.op = record, .peer = peer, .tag = tag, .has_submission = true};

	if (!cap_submission_take(&t.submission, c->frame, &comm_ops[record], NULL))
		return;
	t.excluded = atomic_load_explicit(&c->frame->op->excluded, memory_order_relaxed);
	t.correlation = t.submission.call;
	t.start = c->frame->start;
	*(record == COMM_OP_GET ? &t.received : &t.sent) = bytes;
	comm_write(&t, c->frame->end);
}

/* ---- OpenSHMEM ---- */

/* shmem_[ctx_][TYPE_][i]put[mem|BITS][_nbi], ...get..., shmem_[ctx_]TYPE_p, ..._g */
static struct move openshmem_move(const char *name)
{
	static const struct {
		char name[10];
		uint8_t bytes;
	} types[] = {
		{"char", 1},     {"short", 2},  {"int", 4},   {"long", 8},
		{"longlong", 8}, {"uint", 4},   {"ulong", 8}, {"ulonglong", 8},
		{"float", 4},    {"double", 8}, {"size", 8},
	};
	struct move m = {0};
	char *end;

	name += strlen("shmem_");
	name += begins(name, "ctx_") ? 4 : 0;
	for (unsigned i = 0; !m.element && i < sizeof(types) / sizeof(types[0]); i++)
		if (begins(name, types[i].name) && name[strlen(types[i].name)] == '_') {
			m.element = types[i].bytes;
			name += strlen(types[i].name) + 1;
		}
	m.one = m.element && (strcmp(name, "p") == 0 || strcmp(name, "g") == 0);
	if (m.one) {
		m.record = (*name == 'p' ? COMM_OP_PUT : COMM_OP_GET) + 1;
		return m;
	}
	name += *name == 'i' ? 1 : 0;
	if (!begins(name, "put") && !begins(name, "get"))
		return (struct move){0};
	m.record = (*name == 'p' ? COMM_OP_PUT : COMM_OP_GET) + 1;
	name += 3;
	if (!m.element && begins(name, "mem"))
		m.element = 1;
	else if (!m.element)
		m.element = (uint32_t)strtoul(name, &end, 10) / 8;
	return m.element ? m : (struct move){0};
}

static void after_openshmem(const struct table_call *c)
{
	const struct move *m = &openshmem.moves[c->slot->cap->number];
	const uint64_t count = m->one ? 1 : exports_argument(openshmem.model, c, "len");

	write_move(c, m->record - 1, count * m->element,
		   (int32_t)exports_argument(openshmem.model, c, "pe"), -1);
}

/* ---- UCX ---- */

static struct move ucx_move(const char *name)
{
	const bool put = begins(name, "ucp_put"), get = begins(name, "ucp_get");
	const bool send = begins(name, "ucp_tag_send") || begins(name, "ucp_stream_send") ||
			  begins(name, "ucp_am_send");
	const char *rest = name + strlen("ucp_put");

	if (send)
		return (struct move){.record = COMM_OP_SEND + 1};
	if ((put || get) && (!*rest || begins(rest, "_nb"))) /* not ucp_get_version() */
		return (struct move){.record = (put ? COMM_OP_PUT : COMM_OP_GET) + 1};
	return (struct move){0};
}

/* As ucp.h has them: ucp_request_param_t, classes of ucp_datatype_t, ucp_dt_iov_t. */
enum { PARAM_HAS_DATATYPE = 1 << 3, PARAM_DATATYPE_AT = 24, DATATYPE_BITS = 3 };
enum { DATATYPE_CONTIGUOUS = 0, DATATYPE_PIECES = 2, BYTES = 1 << DATATYPE_BITS };
struct piece {
	void *buffer;
	size_t length;
};

static uint64_t ucx_datatype(const struct table_call *c)
{
	const char *param = (const char *)(uintptr_t)exports_argument(ucx.model, c, "param");
	uint64_t type = exports_argument(ucx.model, c, "datatype");
	uint32_t has;

	if (!param)
		return type ? type : BYTES;
	memcpy(&has, param, sizeof(has));
	if (!(has & PARAM_HAS_DATATYPE))
		return BYTES;
	memcpy(&type, param + PARAM_DATATYPE_AT, sizeof(type));
	return type;
}

/* Of a datatype of the program's own the bytes are not known: 0. */
static uint64_t ucx_bytes(const struct table_call *c)
{
	const uint64_t count = exports_argument(ucx.model, c, "count"), type = ucx_datatype(c);
	const unsigned of = type & ((1u << DATATYPE_BITS) - 1);
	const struct piece *pieces;
	uint64_t bytes = exports_argument(ucx.model, c, "header_length");

	if (of == DATATYPE_CONTIGUOUS)
		return bytes + exports_argument(ucx.model, c, "length") +
		       count * (type >> DATATYPE_BITS);
	pieces = (const struct piece *)(uintptr_t)exports_argument(ucx.model, c, "buffer");
	for (uint64_t i = 0; of == DATATYPE_PIECES && i < count; i++)
		bytes += pieces[i].length;
	return bytes;
}

/* A negative status, or in place of a request's address. */
static bool ucx_failed(const struct table_call *c)
{
	const char *name = op_name(&ucx, c);
	const bool address =
		begins(name + strlen(name) - 3, "nbx") || begins(name + strlen(name) - 3, "_nb");

	return address ? c->result[0] >= (uint64_t)-100 : (int32_t)c->result[0] < 0;
}

static void after_ucx(const struct table_call *c)
{
	const uint64_t tag = exports_argument(ucx.model, c, "tag");
	const bool tagged = begins(op_name(&ucx, c), "ucp_tag") && tag <= INT32_MAX;

	if (!ucx_failed(c))
		write_move(c, ucx.moves[c->slot->cap->number].record - 1, ucx_bytes(c), -1,
			   tagged ? (int32_t)tag : -1);
}

/* ---- start ---- */

static bool needed(const char *op)
{
	return comm_wanted();
}

/* Once, before the library's functions are replaced. */
static void prepare(struct mover *to, struct table_model *model,
		    struct move (*of)(const char *name), void (*run)(const struct table_call *call))
{
	const uint32_t count = model->desc->op_count;
	struct table_after *after = calloc(count + 1, sizeof(*after));
	unsigned used = 0;

	to->model = model;
	to->moves = calloc(count, sizeof(*to->moves));
	if (!after || !to->moves || !comm_register()) {
		free(after);
		cap_note(2, model->desc->name, "what it moves is not recorded: no memory");
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		to->moves[i] = of(model->desc->ops[i].name);
		if (to->moves[i].record)
			after[used++] = (struct table_after){model->desc->ops[i].name, run};
	}
	model->after = after; /* for ever, as the model */
	model->keep_after = true;
	model->needed = needed;
}

void exports_moves_prepare(const char *domain, struct table_model *model)
{
	if (strcmp(domain, "ucx") == 0)
		prepare(&ucx, model, ucx_move, after_ucx);
	else
		prepare(&openshmem, model, openshmem_move, after_openshmem);
}
