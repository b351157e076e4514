/* SPDX-License-Identifier: Apache-2.0 */
/* Events of LTTng and THAPI; see foreign.h. */
#include "formats/ctf/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "stream/assemble.h"
#include "stream/payload.h"
#include "stream/symbol.h"

static void no_memory(struct ctf_reader *r)
{
	r->status = KYMO_ERROR_NO_MEMORY;
	r->done = true;
}

/* Counted once, in the pass that hands records on. */
bool foreign_lost(struct ctf_reader *r, const char *what)
{
	if (!r->defining) {
		unplaced_add(&r->unplaced, what, 1);
		make_lost(r->t, 0, 1, 0);
	}
	return false;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct ends {
	const char *entry, *exit;
	bool before; /* they are in front of the name */
};

static const struct ends pairs[] = {
	{"_entry", "_exit", false},
	{"entry_", "exit_", true},
	{"syscall_entry_", "syscall_exit_", true},
	{"_req", "_acq", false},
	{"compat_syscall_entry_", "compat_syscall_exit_", true},
};

/* "provider:event" or "event": where the event begins. */
static const char *event_of(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon && colon[1] ? colon + 1 : name;
}

/* `name` with `from` at its end or front made `to` (NULL: left away). False: it is not there. */
static bool replace(const char *name, const char *from, const char *to, bool before, char *out,
		    size_t size)
{
	const char *event = event_of(name);
	size_t n = strlen(event), m = strlen(from);

	if (n <= m || strncmp(before ? event : event + n - m, from, m) != 0)
		return false;
	to = to ? to : "";
	if (before)
		snprintf(out, size, "%.*s%s%s", (int)(event - name), name, to, event + m);
	else
		snprintf(out, size, "%.*s%s", (int)(event + n - m - name), name, to);
	return true;
}

/* "lttng_ust_opencl:x" is of the domain "opencl", an event without provider of "kernel". */
static void domain_of(const char *name, char *out, size_t size)
{
	const char *event = event_of(name);
	int n = event > name ? (int)(event - name) - 1 : 0;

	if (n > 10 && strncmp(name, "lttng_ust_", 10) == 0) {
		name += 10;
		n -= 10;
	}
	snprintf(out, size, "%.*s", n ? n : 6, n ? name : "kernel");
}

static void know_names(struct ctf_reader *r, const bt_event_class *class)
{
	const bt_stream_class *stream = bt_event_class_borrow_stream_class_const(class);
	struct ctf_foreign *f = r->foreign;
	uint64_t key = (uint64_t)(uintptr_t)stream;

	if (f->graph != r->graphs) {
		map_release(&f->names);
		map_release(&f->streams);
		f->graph = r->graphs;
	}
	if (map_get(&f->streams, key))
		return;
	if (!map_set(&f->streams, key, 1))
		no_memory(r);
	for (uint64_t i = 0; i < bt_stream_class_get_event_class_count(stream); i++) {
		const bt_event_class *e =
			bt_stream_class_borrow_event_class_by_index_const(stream, i);
		const char *name = bt_event_class_get_name(e);

		if (name && !map_set(&f->names, hash_string(name), (uint64_t)(uintptr_t)e))
			no_memory(r);
	}
}

static const bt_event_class *class_named(const struct ctf_reader *r, const char *name)
{
	const bt_event_class *e =
		(const bt_event_class *)(uintptr_t)map_get(&r->foreign->names, hash_string(name));

	return e && strcmp(bt_event_class_get_name(e), name) == 0 ? e : NULL;
}

/* ---- operations ------------------------------------------------------------------------------ */

static uint8_t kind_of(const bt_field_class *f)
{
	switch (bt_field_class_get_type(f)) {
	case BT_FIELD_CLASS_TYPE_BOOL:
	case BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION:
	case BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER:
		return bt_field_class_get_type(f) == BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER &&
				       bt_field_class_integer_get_preferred_display_base(f) ==
					       BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL
			       ? KYMO_KIND_POINTER
			       : KYMO_KIND_UNSIGNED;
	case BT_FIELD_CLASS_TYPE_SIGNED_INTEGER:
	case BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION:
		return KYMO_KIND_SIGNED;
	case BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL:
	case BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL:
		return KYMO_KIND_FLOAT;
	case BT_FIELD_CLASS_TYPE_STRING:
	case BT_FIELD_CLASS_TYPE_STATIC_ARRAY:
	case BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITHOUT_LENGTH_FIELD:
	case BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITH_LENGTH_FIELD:
		return KYMO_KIND_STRING; /* arrays are written as they are read */
	default:
		return 0;
	}
}

uint32_t foreign_fields(const bt_event_class *class, struct make_field *out)
{
	const bt_field_class *payload =
		class ? bt_event_class_borrow_payload_field_class_const(class) : NULL;
	uint64_t count = payload ? bt_field_class_structure_get_member_count(payload) : 0;
	uint32_t n = 0;

	for (uint64_t i = 0; i < count && n < FOREIGN_FIELDS; i++) {
		const bt_field_class_structure_member *m =
			bt_field_class_structure_borrow_member_by_index_const(payload, i);
		uint8_t kind = kind_of(bt_field_class_structure_member_borrow_field_class_const(m));

		if (kind)
			out[n++] = (struct make_field){bt_field_class_structure_member_get_name(m),
						       kind};
	}
	return n;
}

static uint32_t op_of_pair(struct ctf_reader *r, const char *base, const bt_event_class *entry,
			   const bt_event_class *exit)
{
	struct make_field fields[2 * FOREIGN_FIELDS];
	uint32_t n = foreign_fields(entry, fields), k = foreign_fields(exit, fields + n);
	char domain[128];

	domain_of(base, domain, sizeof(domain));
	return keyed_op(&r->foreign->keyed, domain, event_of(base), fields, n + k);
}

static bool take_pair(struct ctf_reader *r, struct ctf_class *c)
{
	char other[512], base[512];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const struct ends *p = &pairs[i];
		const bt_event_class *partner;
		bool entry = replace(c->name, p->entry, p->exit, p->before, other, sizeof(other));

		if (!entry && !replace(c->name, p->exit, p->entry, p->before, other, sizeof(other)))
			continue;
		partner = class_named(r, other);
		if (!partner)
			continue;
		replace(c->name, entry ? p->entry : p->exit, NULL, p->before, base, sizeof(base));
		c->role = entry ? ROLE_ENTRY : ROLE_EXIT;
		c->op = op_of_pair(r, base, entry ? c->class : partner, entry ? partner : c->class);
		return true;
	}
	return false;
}

/* Of LTTng before 2.6: sys_X, and one event that ends them all. */
static bool take_old_system_call(struct ctf_reader *r, struct ctf_class *c)
{
	static const char exit[] = "exit_syscall";
	const bt_event_class *end = class_named(r, exit);
	const char *name = strncmp(c->name, "compat_", 7) == 0 ? c->name + 7 : c->name;

	if (strcmp(c->name, exit) == 0)
		c->role = ROLE_SYSTEM_CALL_EXIT;
	if (!end || strncmp(name, "sys_", 4) != 0 || !name[4])
		return c->role == ROLE_SYSTEM_CALL_EXIT;
	c->role = ROLE_ENTRY;
	c->op = op_of_pair(r, name + 4, c->class, end);
	return true;
}

static void take_role(struct ctf_reader *r, struct ctf_class *c)
{
	static const struct {
		const char *name;
		enum foreign_role role;
	} known[] = {
		{"lttng_ust_cyg_profile:func_entry", ROLE_FUNCTION_ENTRY},
		{"lttng_ust_cyg_profile:func_exit", ROLE_FUNCTION_EXIT},
		{"lttng_ust_cyg_profile_fast:func_entry", ROLE_FUNCTION_ENTRY},
		{"lttng_ust_cyg_profile_fast:func_exit", ROLE_FUNCTION_EXIT},
		{"lttng_ust_statedump:bin_info", ROLE_MODULE},
		{"lttng_ust_statedump:procname", ROLE_PROCESS_NAME},
	};

	know_names(r, c->class);
	c->name_text = keyed_text(&r->foreign->keyed, c->name, strlen(c->name));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].name, c->name) == 0) {
			c->role = known[i].role;
			return;
		}
	c->role = thapi_role(c->name);
	if (c->role == ROLE_MARK)
		c->role = memory_is_event(c->name) ? ROLE_MEMORY : kernel_role(c->name);
	if (c->role != ROLE_MARK || take_pair(r, c) || take_old_system_call(r, c))
		return;
	if (strncmp(c->name, "lttng_ust_statedump:", 20) == 0 ||
	    strncmp(c->name, "lttng_statedump_", 16) == 0)
		c->role = ROLE_STATE_DUMP;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void add_array(struct text *out, const bt_field *f)
{
	uint64_t n = bt_field_array_get_length(f), v;
	double real;

	text_add(out, "[");
	for (uint64_t i = 0; i < n && i < 16; i++) {
		const bt_field *e = bt_field_array_borrow_element_field_by_index_const(f, i);

		if (i)
			text_add(out, ", ");
		if (ctf_number(e, &v) &&
		    (bt_field_get_class_type(e) == BT_FIELD_CLASS_TYPE_SIGNED_INTEGER ||
		     bt_field_get_class_type(e) == BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION))
			text_addf(out, "%lld", (long long)v);
		else if (ctf_number(e, &v))
			text_addf(out, "%llu", (unsigned long long)v);
		else if (ctf_real(e, &real))
			text_addf(out, "%.17g", real);
		else
			text_add_bytes(out, ctf_text(e) ? ctf_text(e) : "?",
				       strnlen(ctf_text(e) ? ctf_text(e) : "?", 32));
	}
	text_add(out, n > 16 ? ", ...]" : "]");
}

static void take_value(struct foreign_values *v, const char *name, const bt_field *f, uint8_t kind)
{
	struct foreign_value *x = &v->all[v->count++];
	const char *text;
	double real;

	*x = (struct foreign_value){.kind = kind, .name = name, .u = v->texts.length};
	if (kind == KYMO_KIND_STRING) {
		text = ctf_text(f);
		if (text)
			text_add_bytes(&v->texts, text, strnlen(text, FOREIGN_TEXT));
		else
			add_array(&v->texts, f);
		x->length = (uint32_t)(v->texts.length - x->u);
		text_add_bytes(&v->texts, "", 1);
	} else if (kind == KYMO_KIND_FLOAT) {
		real = 0;
		ctf_real(f, &real);
		memcpy(&x->u, &real, sizeof(real));
	} else {
		ctf_number(f, &x->u);
	}
}

void foreign_take(struct foreign_values *v, const bt_field *payload)
{
	const bt_field_class *class = payload ? bt_field_borrow_class_const(payload) : NULL;
	uint64_t count = class ? bt_field_class_structure_get_member_count(class) : 0;

	v->count = 0;
	v->texts.length = 0;
	for (uint64_t i = 0; i < count && v->count < FOREIGN_FIELDS; i++) {
		const bt_field_class_structure_member *m =
			bt_field_class_structure_borrow_member_by_index_const(class, i);
		uint8_t kind = kind_of(bt_field_class_structure_member_borrow_field_class_const(m));

		if (kind)
			take_value(
				v, bt_field_class_structure_member_get_name(m),
				bt_field_structure_borrow_member_field_by_index_const(payload, i),
				kind);
	}
}

const struct foreign_value *foreign_value(const struct foreign_values *v, const char *name)
{
	for (uint32_t i = 0; i < v->count; i++)
		if (strcmp(v->all[i].name, name) == 0)
			return &v->all[i];
	return NULL;
}

uint64_t foreign_number(const struct foreign_values *v, const char *name)
{
	const struct foreign_value *x = foreign_value(v, name);

	return x && x->kind != KYMO_KIND_STRING ? x->u : 0;
}

const char *foreign_text(const struct foreign_values *v, const char *name)
{
	const struct foreign_value *x = foreign_value(v, name);

	return x && x->kind == KYMO_KIND_STRING && v->texts.s ? v->texts.s + x->u : "";
}

static void put_values(struct make_fields *m, const struct foreign_values *v)
{
	for (uint32_t i = 0; i < v->count && m->index < m->op->field_count; i++)
		if (v->all[i].kind == KYMO_KIND_STRING)
			make_text(m, v->texts.s + v->all[i].u, v->all[i].length);
		else
			make_number(m, v->all[i].u);
}

/* ---- calls ----------------------------------------------------------------------------------- */

void foreign_enter(struct ctf_reader *r, const struct foreign_event *e, uint32_t op)
{
	struct foreign_thread *t = e->thread;
	struct foreign_frame *f;

	if (t->depth >= FOREIGN_DEPTH) {
		foreign_lost(r, "calls that are nested too deep");
		return;
	}
	if (t->depth == t->room) {
		uint32_t room = t->room;

		if (!vec_reserve(&t->frames, &t->room, t->depth, 1)) {
			no_memory(r);
			return;
		}
		memset(t->frames + room, 0, (t->room - room) * sizeof(*t->frames));
	}
	t->entered = true;
	f = &t->frames[t->depth++];
	f->op = op;
	f->id = ++r->foreign->ids;
	f->start = e->time;
	f->submitted = 0;
	foreign_take(&f->values, e->payload);
}

/* The frame that ends; what lies in it and never ended is lost. NULL: none began. */
struct foreign_frame *foreign_leave(struct ctf_reader *r, const struct foreign_event *e,
				    uint32_t op)
{
	struct foreign_thread *t = e->thread;
	uint32_t i = t->depth;

	while (i && t->frames[i - 1].op != op)
		i--;
	if (!i) {
		foreign_lost(r, "ends of calls that did not begin in the trace");
		return NULL;
	}
	while (t->depth > i) {
		foreign_lost(r, "calls without an end in the call that they lie in");
		t->depth--;
	}
	return &t->frames[--t->depth];
}

static bool is_status(const char *name, bool kernel)
{
	size_t n = strlen(name);

	return strcmp(name, "errcode_ret_val") == 0 ||
	       (n > 6 && strcmp(name + n - 6, "Result") == 0) ||
	       (kernel && strcmp(name, "ret") == 0);
}

/* In the kernel what is an error number is one (addresses may be below 0, too), elsewhere all but 0. */
static void take_status(const struct trace *t, const struct foreign_values *exit, struct rec *c)
{
	bool kernel = strcmp(t->domains[t->ops[c->op].domain].name, "kernel") == 0;

	c->ok = true;
	for (uint32_t i = 0; i < exit->count; i++)
		if (is_status(exit->all[i].name, kernel)) {
			int64_t v = (int64_t)exit->all[i].u;

			c->ok = kernel ? v >= 0 || v < -4095 : v == 0;
			c->status = c->ok && kernel ? 0 : (int32_t)v;
			return;
		}
}

void foreign_call(struct ctf_reader *r, const struct foreign_event *e,
		  const struct foreign_frame *f, uint32_t op)
{
	const struct foreign_thread *t = e->thread;
	struct rec c = {.process = t->process,
			.thread = t->thread,
			.op = op,
			.id = f->id,
			.parent = t->depth ? t->frames[t->depth - 1].id : 0,
			.start = f->start,
			.end = e->time};

	take_status(r->t, &r->foreign->values, &c);
	if (r->t->ops[op].field_count) {
		make_fields_begin(&r->arguments, &r->t->ops[op]);
		put_values(&r->arguments, &f->values);
		put_values(&r->arguments, &r->foreign->values);
		c.wire = make_fields_end(&r->arguments);
	}
	r->status = r->sink->call(r->sink, &c);
	r->done = r->status != KYMO_OK;
}

/* A new thread comes out of the call by which another one made it. */
static bool is_birth(const struct ctf_reader *r, const struct foreign_event *e)
{
	static const char *const names[] = {"clone", "clone3", "fork", "vfork"};
	const struct t_op *op = &r->t->ops[e->c->op];

	if (e->thread->entered || strcmp(r->t->domains[op->domain].name, "kernel") != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(op->name, names[i]) == 0)
			return true;
	return false;
}

static void exit_call(struct ctf_reader *r, const struct foreign_event *e, uint32_t op)
{
	struct foreign_frame *f = foreign_leave(r, e, op);

	if (!f)
		return;
	foreign_take(&r->foreign->values, e->payload);
	if (strncmp(e->c->name, "lttng_ust_opencl:", 17) == 0)
		thapi_call(r, e, r->t->ops[op].name, f);
	if (!r->defining)
		foreign_call(r, e, f, op);
}

static void exit_system_call(struct ctf_reader *r, const struct foreign_event *e)
{
	const struct foreign_thread *t = e->thread;
	uint32_t op = t->depth ? t->frames[t->depth - 1].op : UINT32_MAX;

	exit_call(r, e, kernel_is_away(r->foreign, op) ? UINT32_MAX : op);
}

/* ---- functions ------------------------------------------------------------------------------- */

static uint32_t function_of(struct ctf_reader *r, const struct foreign_event *e)
{
	struct ctf_foreign *f = r->foreign;
	uint64_t address = 0, key, known;

	ctf_number(ctf_member(e->payload, "addr"), &address);
	key = hash_mix(e->thread->process, address);
	known = map_get(&f->functions_by_address, key);
	if (known)
		return FOREIGN_FUNCTION | (uint32_t)(known - 1);
	if (!vec_reserve(&f->functions, &f->function_room, f->function_count, 1) ||
	    !map_set(&f->functions_by_address, key, f->function_count + 1)) {
		no_memory(r);
		return FOREIGN_FUNCTION;
	}
	f->functions[f->function_count] =
		(struct foreign_function){.process = e->thread->process, .address = address};
	return FOREIGN_FUNCTION | f->function_count++;
}

/* The fast variant does not say which function it is that ends. */
static void exit_function(struct ctf_reader *r, const struct foreign_event *e)
{
	const struct foreign_thread *t = e->thread;
	bool told = ctf_member(e->payload, "addr") != NULL;
	uint32_t function = told || !t->depth ? function_of(r, e) : t->frames[t->depth - 1].op;
	struct foreign_frame *f = foreign_leave(r, e, function);

	if (!f || r->defining || !(function & FOREIGN_FUNCTION))
		return;
	r->foreign->values.count = 0;
	foreign_call(r, e, f, r->foreign->functions[function & ~FOREIGN_FUNCTION].op);
}

static void take_module(struct ctf_reader *r, const struct foreign_event *e)
{
	struct foreign_values *v = &r->foreign->values;
	struct t_module m = {.process = foreign_process(r, e->event)};

	if (!r->defining)
		return;
	foreign_take(v, e->payload);
	m.start = foreign_number(v, "baddr");
	m.end = m.start + foreign_number(v, "memsz");
	m.bias = foreign_number(v, "is_pic") ? m.start : 0;
	m.path = trace_string(r->t, foreign_text(v, "path"), strlen(foreign_text(v, "path")));
	if (*m.path && m.end > m.start)
		*trace_add(r->t, modules) = m;
}

static uint32_t site_of(struct ctf_reader *r, const struct foreign_function *f)
{
	struct t_site s = {.process = f->process, .address = f->address + 1};

	for (uint32_t i = 1; i < r->t->modules_count && !s.module; i++)
		if (r->t->modules[i].process == f->process &&
		    f->address >= r->t->modules[i].start && f->address < r->t->modules[i].end)
			s.module = i;
	*trace_add(r->t, sites) = s;
	return r->t->sites_count - 1;
}

/* Functions by their names, so that two processes of one program have the same. */
static void name_functions(struct ctf_reader *r)
{
	static const struct make_field fields[] = {{"addr", KYMO_KIND_POINTER},
						   {"call_site", KYMO_KIND_POINTER}};
	struct ctf_foreign *f = r->foreign;
	uint32_t first = r->t->sites_count;
	struct symbols *symbols;

	for (uint32_t i = 0; i < f->function_count; i++)
		site_of(r, &f->functions[i]);
	symbols = f->function_count ? symbols_new(r->t, r->o->log) : NULL;
	for (uint32_t i = 0; i < f->function_count; i++) {
		const struct symbol *s = symbols ? symbols_site(symbols, first + i) : NULL;
		char name[32];

		snprintf(name, sizeof(name), "0x%llx", (unsigned long long)f->functions[i].address);
		f->functions[i].op = keyed_op(&f->keyed, "functions",
					      s && s->function ? s->function : name, fields, 2);
	}
	symbols_free(symbols);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void add_payload(struct text *out, const struct foreign_values *v)
{
	out->length = 0;
	text_add_bytes(out, "", 1); /* none is left out */
	for (uint32_t i = 0; i < v->count && out->length < 600; i++) {
		const struct foreign_value *x = &v->all[i];
		uint8_t type = x->kind == KYMO_KIND_SIGNED   ? KYMO_PAYLOAD_INT64
			       : x->kind == KYMO_KIND_FLOAT  ? KYMO_PAYLOAD_DOUBLE
			       : x->kind == KYMO_KIND_STRING ? KYMO_PAYLOAD_STRING
							     : KYMO_PAYLOAD_UINT64;

		if (type == KYMO_PAYLOAD_STRING)
			payload_put(out, x->name, strlen(x->name), type, v->texts.s + x->u,
				    x->length, x->length);
		else
			payload_put(out, x->name, strlen(x->name), type, &x->u, sizeof(x->u),
				    sizeof(x->u));
	}
}

void foreign_mark(struct ctf_reader *r, const struct foreign_event *e)
{
	struct ctf_foreign *f = r->foreign;
	struct rec_marker m = {.base = {.process = e->thread->process,
					.thread = e->thread->thread,
					.ok = true,
					.start = e->time,
					.end = e->time},
			       .name = e->c->name_text};

	if (r->defining)
		return;
	foreign_take(&f->values, e->payload);
	m.base.op = make_activity(&f->model, RECORD_DOMAIN_marker, MARKER_OP_MARK);
	m.text = r->t->strings[m.name].text;
	m.text_length = r->t->strings[m.name].length;
	if (f->values.count) {
		add_payload(&f->payload, &f->values);
		m.payload = (const uint8_t *)f->payload.s;
		m.payload_bytes = (uint32_t)f->payload.length;
	}
	r->status = r->sink->marker(r->sink, &m);
	r->done = r->status != KYMO_OK;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void leave_out(struct ctf_reader *r, const struct foreign_event *e)
{
	if (!r->defining)
		unplaced_add(&r->unplaced,
			     e->c->role == ROLE_LEFT_OUT
				     ? "events of THAPI's own, and device times in its ticks"
				     : "events of state dumps",
			     1);
}

static void take_event(struct ctf_reader *r, const struct foreign_event *e)
{
	switch (e->c->role) {
	case ROLE_ENTRY:
		foreign_enter(r, e, e->c->op);
		break;
	case ROLE_EXIT:
		if (!is_birth(r, e))
			exit_call(r, e, e->c->op);
		break;
	case ROLE_SYSTEM_CALL_EXIT:
		exit_system_call(r, e);
		break;
	case ROLE_FUNCTION_ENTRY:
		foreign_enter(r, e, function_of(r, e));
		break;
	case ROLE_FUNCTION_EXIT:
		exit_function(r, e);
		break;
	case ROLE_MODULE:
		take_module(r, e);
		leave_out(r, e);
		break;
	case ROLE_PROCESS_NAME:
		foreign_take(&r->foreign->values, e->payload);
		foreign_name_process(r, foreign_process(r, e->event),
				     foreign_text(&r->foreign->values, "procname"),
				     NAMER_STATE_DUMP);
		leave_out(r, e);
		break;
	case ROLE_SWITCH:
		kernel_switch(r, e);
		break;
	case ROLE_TASK:
		kernel_task(r, e);
		leave_out(r, e);
		break;
	case ROLE_NEW_TASK:
		kernel_task(r, e);
		break;
	case ROLE_CL_EVENT:
		thapi_cl_event(r, e);
		break;
	case ROLE_CL_RESULT:
		thapi_cl_result(r, e);
		break;
	case ROLE_CL_KERNEL:
		thapi_cl_kernel(r, e);
		foreign_mark(r, e);
		break;
	case ROLE_DEVICE_NAME:
		thapi_device_name(r, e);
		break;
	case ROLE_HOST:
		thapi_host(r, e);
		break;
	case ROLE_DEVICE:
		thapi_device(r, e);
		break;
	case ROLE_MARK:
		foreign_mark(r, e);
		break;
	case ROLE_MEMORY:
		memory_event(r, e);
		break;
	default:
		leave_out(r, e);
	}
}

/* How many events a packet had that is not there nobody knows: at least one. */
static void discarded(struct ctf_reader *r, const bt_message *m)
{
	bool packets = bt_message_get_type(m) == BT_MESSAGE_TYPE_DISCARDED_PACKETS;
	bt_property_availability told;
	uint64_t count = 1;

	if (r->defining)
		return;
	told = packets ? bt_message_discarded_packets_get_count(m, &count)
		       : bt_message_discarded_events_get_count(m, &count);
	count = told == BT_PROPERTY_AVAILABILITY_AVAILABLE ? count : 1;
	make_lost(r->t, 0, count, 0);
	unplaced_add(&r->unplaced,
		     packets ? "packets that the tracer lost (each counts as one record)"
			     : "events that the tracer discarded",
		     count);
}

static bool has_clock(const struct ctf_class *c)
{
	return bt_stream_class_borrow_default_clock_class_const(
		       bt_event_class_borrow_stream_class_const(c->class)) != NULL;
}

/* These come from a thread of LTTng's, which did nothing of the program's. */
static bool about_state(uint32_t role)
{
	return role == ROLE_MODULE || role == ROLE_PROCESS_NAME || role == ROLE_STATE_DUMP ||
	       role == ROLE_TASK || role == ROLE_SWITCH;
}

static void take(struct ctf_reader *r, const bt_message *m)
{
	struct ctf_foreign *f = r->foreign;
	struct foreign_event e = {0};
	struct ctf_class *c;
	const bt_event *event;
	uint64_t ts;
	bool fresh;

	if (bt_message_get_type(m) == BT_MESSAGE_TYPE_DISCARDED_EVENTS ||
	    bt_message_get_type(m) == BT_MESSAGE_TYPE_DISCARDED_PACKETS)
		discarded(r, m);
	if (bt_message_get_type(m) != BT_MESSAGE_TYPE_EVENT)
		return;
	event = bt_message_event_borrow_event_const(m);
	c = ctf_class_get(r, bt_event_borrow_class_const(event), &fresh);
	if (c && fresh)
		take_role(r, c);
	if (!c)
		return;
	e.thread = about_state(c->role) ? NULL : foreign_thread(r, event);
	if (!e.thread && !about_state(c->role))
		return;
	e.c = c;
	e.event = event;
	e.payload = bt_event_borrow_payload_field_const(event);
	if (c->role >= ROLE_SUM_HOST && c->role <= ROLE_SUM_TRAFFIC) {
		f->any = true;
		thapi_sum(r, &e);
		return;
	}
	if (!has_clock(c) && ctf_number(foreign_context(event, "ts"), &ts)) {
		ctf_number(foreign_context(event, "backend"), &e.backend);
		e.time = (int64_t)ts;
	} else if (!has_clock(c) ||
		   bt_clock_snapshot_get_ns_from_origin(
			   bt_message_event_borrow_default_clock_snapshot_const(m), &e.time) !=
			   BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK) {
		foreign_lost(r, "events without a time");
		return;
	}
	if (!assembly_is_time(e.time)) {
		foreign_lost(r, "events at times out of range");
		return;
	}
	f->first = !f->timed || e.time < f->first ? e.time : f->first;
	f->last = !f->timed || e.time > f->last ? e.time : f->last;
	f->any = f->timed = true;
	take_event(r, &e);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void begin_pass(struct ctf_reader *r)
{
	struct ctf_foreign *f = r->foreign;

	map_release(&f->running);
	for (uint32_t i = 0; i < f->thread_count; i++) {
		f->threads[i].depth = 0;
		f->threads[i].entered = false;
	}
	f->ids = 0;
	f->work_count = f->work_free = 0;
	map_release(&f->work);
}

static void note_open_calls(struct ctf_reader *r)
{
	struct ctf_foreign *f = r->foreign;

	for (uint32_t i = 0; i < f->thread_count; i++)
		for (uint32_t k = 0; k < f->threads[i].depth; k++) {
			const struct foreign_frame *x = &f->threads[i].frames[k];
			uint32_t op = x->op & FOREIGN_FUNCTION
					      ? f->functions[x->op & ~FOREIGN_FUNCTION].op
					      : x->op;

			if (kernel_is_away(f, x->op)) /* as most threads are */
				continue;
			*trace_add(r->t, open_calls) =
				(struct t_open_call){.thread = f->threads[i].thread,
						     .op = op,
						     .depth = k,
						     .id = x->id,
						     .start = x->start};
		}
}

static kymo_status_t define(struct ctf_reader *r)
{
	struct ctf_foreign *f = r->foreign;
	kymo_status_t status;

	r->defining = true;
	make_usual_activities(r->t, &f->model);
	status = ctf_messages(r, take);
	if (status != KYMO_OK)
		return status;
	if (!f->any)
		return make_no_event(r->o->log, r->path);
	foreign_threads_place(r);
	thapi_sums_complete(r);
	name_functions(r);
	note_open_calls(r);
	r->t->origin = f->first;
	r->t->end = f->last;
	return keyed_complete(&f->keyed, f->first, f->last) && make_complete(r->t)
		       ? KYMO_OK
		       : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t read_passes(struct ctf_reader *r)
{
	kymo_status_t status = define(r);

	if (status != KYMO_OK)
		return status;
	status = r->sink->begin(r->sink, r->t);
	begin_pass(r);
	r->defining = false;
	if (status == KYMO_OK)
		status = ctf_messages(r, take);
	if (status == KYMO_OK) {
		thapi_end(r);
		status = r->status;
	}
	for (uint32_t i = 1; i < r->t->open_calls_count && status == KYMO_OK; i++)
		status = r->sink->open_call(r->sink, &r->t->open_calls[i]);
	make_lost(r->t, 0, 0, r->cut);
	if (status == KYMO_OK || status == KYMO_ERROR_LIMIT)
		status = r->sink->end(r->sink, r->t);
	return status;
}

static void release(struct ctf_foreign *f)
{
	for (uint32_t i = 0; i < f->thread_count; i++) {
		for (uint32_t k = 0; k < f->threads[i].room; k++)
			text_release(&f->threads[i].frames[k].values.texts);
		free(f->threads[i].frames);
	}
	keyed_release(&f->keyed);
	map_release(&f->names);
	map_release(&f->streams);
	map_release(&f->by_key);
	map_release(&f->running);
	map_release(&f->named);
	map_release(&f->live);
	map_release(&f->live_bytes);
	map_release(&f->pids);
	map_release(&f->names_of_tasks);
	map_release(&f->functions_by_address);
	free(f->threads);
	free(f->functions);
	thapi_release(f);
	text_release(&f->values.texts);
	text_release(&f->payload);
	free(f);
}

kymo_status_t ctf_read_foreign(struct ctf_reader *r)
{
	kymo_status_t status;

	r->foreign = calloc(1, sizeof(*r->foreign));
	if (!r->foreign)
		return KYMO_ERROR_NO_MEMORY;
	r->foreign->keyed.t = r->t;
	status = read_passes(r);
	release(r->foreign);
	r->foreign = NULL;
	return status;
}
