/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up runtime and a tool that keeps what it is told. */
#include "tool_support.h"

static const kymo_field_t fields[] = {
	{"number", "uint64_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, KYMO_FIELD_IN},
	{"text", "const char *", NULL, KYMO_KIND_STRING, 0, 1, KYMO_FIELD_IN},
	{"out", "int", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_OUT},
};
static const kymo_op_desc_t descs[T_OPS] = {{"call", fields, 3, 0, NULL, 0},
					    {"other", fields, 3, 0, NULL, 0},
					    {"submit", fields, 3, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "t", "Test", 1, T_OPS, descs};
struct cap_op t_ops[T_OPS];

static void encode(const struct cap_domain_info *info, uint32_t op, const void *args, bool ok,
		   struct wire_enc *e)
{
	const struct t_args *a = args;

	wire_unsigned(e, 0, a->number);
	wire_string(e, 1, a->text, 64);
	wire_signed(e, 2, ok ? a->out : 0, 4);
}

static const struct cap_domain_info info = {.desc = &desc, .ops = t_ops, .encode = encode};

void t_register(void)
{
	struct cap_domain *domain;

	assert_int_equal(cap_domain_register(&info, &domain), KYMO_OK);
}

static void leave(struct cap_frame *f, struct t_args *args)
{
	struct wire_enc e;

	cap_leave(f);
	cap_status(f, 0, 0);
	if (f->callbacks)
		cap_callbacks(f, args, CAP_EXIT);
	if (f->buffers && cap_record(f, &e, 3)) {
		encode(&info, 0, args, true, &e);
		cap_commit(f, &e);
	}
	cap_done(f);
}

__attribute__((noinline)) uint64_t t_call(int op, uint64_t number, void (*inside)(void *data),
					  void *data)
{
	struct cap_frame *f = cap_enter(&t_ops[op], __builtin_return_address(0));
	struct t_args args = {sizeof(args), number, "text", -1};
	uint64_t id = f ? f->id : 0;

	if (f && f->callbacks)
		cap_callbacks(f, &args, CAP_ENTER);
	args.out = 42;
	if (inside)
		inside(data);
	if (f)
		leave(f, &args);
	return id;
}

__attribute__((noinline)) uint64_t t_submit(struct cap_submission *o, uint64_t bytes, bool *wanted)
{
	struct cap_frame *f = cap_enter(&t_ops[T_SUBMIT], __builtin_return_address(0));
	struct cap_subject subject = {.bytes = bytes};
	struct t_args args = {sizeof(args), bytes, NULL, 0};
	uint64_t id = f ? f->id : 0;

	if (f && f->callbacks)
		cap_callbacks(f, &args, CAP_ENTER);
	*wanted = cap_submission_take(o, f, &core_sync_ops[0], &subject);
	if (f)
		leave(f, &args);
	return id;
}

void t_complete(struct cap_submission *o)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (cap_activity_begin(&f, &e, &core_sync_ops[0], o, now, now, SYNC_FIELDS)) {
		wire_unsigned(&e, SYNC_CORRELATION, o->call);
		for (unsigned i = 1; i < SYNC_FIELDS; i++)
			wire_unsigned(&e, i, 0);
		cap_activity_commit(&f, &e);
	}
	cap_submission_end(o);
}

void t_keep(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	struct t_seen *s = data;
	kymo_value_t v = {.size = sizeof(v)};
	struct t_event *e;

	if (s->count == 4096)
		return;
	e = &s->list[s->count++];
	*e = (struct t_event){.domain = r->domain->name,
			      .op = r->op,
			      .phase = r->phase,
			      .call = r->correlation,
			      .external = r->external,
			      .scope = r->scope,
			      .status = r->status,
			      .bare = !r->args};
	if (kymo_callback_value(r, 0, &v) == KYMO_OK)
		e->value = v.u;
}

kymo_context_t t_context(const char *domain, struct t_seen *seen)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = domain};
	kymo_context_t c;

	memset(seen, 0, sizeof(*seen));
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &s, t_keep, seen), KYMO_OK);
	return c;
}

uint32_t t_count(const struct t_seen *s, const char *domain, kymo_phase_t phase)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i++)
		n += strcmp(s->list[i].domain, domain) == 0 && s->list[i].phase == phase;
	return n;
}
