/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Domains made of tables, and the slots of their entries. One lock guards the lists; it is never
 * held while core or a tool is called, so that a table may be taken while another one is.
 */
#include "core/table/table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/locks.h"
#include "core/intercept/intercept.h"

struct table_domain {
	struct cap_domain_info info; /* first */
	struct table_domain *next;
	const struct table_model *model;
	struct table_op *ops;
	struct table_field *fields;
	_Atomic int status; /* kymo_status_t of the registration with core */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table_domain *domains;
static struct table_given *givens;
static uint32_t slots_used; /* those above were never used */
static uint64_t last_token;

/* ---- fork ---- */

static void before_fork(void) ACQUIRES(lock)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void) RELEASES(lock)
{
	pthread_mutex_unlock(&lock);
}

/*
 * Only this: a thread inside a constructor has the loader's lock and may be waiting here, so that
 * no function of the loader can be called. (That Kymo stays loaded is a flag of its library.)
 */
static void once(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* ---- targets ---- */

static bool op_wanted(const struct cap_op *op)
{
	return atomic_load(&op->callbacks) || atomic_load(&op->buffers) || atomic_load(&op->keep);
}

static bool domain_wanted(const struct table_domain *d)
{
	for (uint32_t i = 0; i < d->info.desc->op_count; i++)
		if (op_wanted(&d->info.ops[i]))
			return true;
	return false;
}

/* Unknown entries are counted when anything of their domain is wanted. */
static void slot_update(struct table_slot *s, bool unknown_wanted)
{
	const void *target = s->next;

	/* What the mode leaves out is counted where others are recorded: by thread, and for who comes after. */
	if (s->op && s->op->described && (op_wanted(s->cap) || atomic_load(&s->cap->left_out)))
		target = table_traced;
	else if (s->cap ? op_wanted(s->cap) : unknown_wanted)
		target = table_counted;
	atomic_store_explicit(&s->target, (void *)(uintptr_t)target, memory_order_release);
}

/* Caller holds the lock. */
static void slots_update(void)
{
	const struct table_domain *d = NULL;
	bool wanted = false;

	kymo_assert_held(&lock);
	for (uint32_t i = 0; i < slots_used; i++) {
		struct table_slot *s = &table_slots[i];

		if (!s->next)
			continue;
		if (s->given->domain != d) {
			d = s->given->domain;
			wanted = domain_wanted(d);
		}
		slot_update(s, wanted);
	}
}

/* What runs after some calls is run for somebody. */
static void keep_update(struct table_domain *d)
{
	const struct table_model *m = d->model;

	for (uint32_t i = 0; m->keep_after && i < m->desc->op_count; i++)
		if (d->ops[i].after)
			atomic_store(&d->info.ops[i].keep,
				     !m->needed || m->needed(m->desc->ops[i].name));
}

static void contexts_changed(uint32_t activities)
{
	pthread_mutex_lock(&lock);
	for (struct table_domain *d = domains; d; d = d->next)
		keep_update(d);
	slots_update();
	pthread_mutex_unlock(&lock);
}

static void domain_encode(const struct cap_domain_info *info, uint32_t op, const void *args,
			  bool ok, struct wire_enc *e)
{
	table_encode(&((const struct table_domain *)info)->ops[op], args, ok, e);
}

/* ---- counts ---- */

/* Tells core what one slot has counted; core is called without the lock. */
static void slot_report(struct table_slot *s)
{
	const char *domain = NULL;
	uint64_t calls = 0;
	char name[64];

	pthread_mutex_lock(&lock);
	if (s->next && atomic_load(&s->calls)) {
		calls = atomic_exchange(&s->calls, 0);
		domain = s->given->domain->info.desc->name;
		if (s->cap)
			snprintf(name, sizeof(name), "%s",
				 s->given->domain->info.desc->ops[s->cap->number].name);
		else
			snprintf(name, sizeof(name), "entry %u of %s (unknown)", s->entry,
				 s->given->name);
	}
	pthread_mutex_unlock(&lock);
	if (calls)
		cap_count_untraced_slow(domain, name, calls);
}

/* Models stay for ever, so their functions can be called without the lock. */
static void flush_models(uint64_t deadline)
{
	const struct table_domain *d;

	pthread_mutex_lock(&lock);
	d = domains;
	pthread_mutex_unlock(&lock);
	for (; d; d = d->next)
		if (d->model->flush)
			d->model->flush(deadline);
}

static void flush(uint64_t deadline)
{
	uint32_t used;

	flush_models(deadline);

	pthread_mutex_lock(&lock);
	used = slots_used;
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < used; i++)
		slot_report(&table_slots[i]);
}

/* ---- domains ---- */

static const struct table_after *after_of(const struct table_model *m, const char *op)
{
	for (const struct table_after *a = m->after; a && a->op; a++)
		if (strcmp(a->op, op) == 0)
			return a;
	return NULL;
}

/* False: an op is described as nothing can be called. */
static bool lay_out(const struct table_model *m, struct table_domain *d)
{
	struct table_field *fields = d->fields;

	for (uint32_t i = 0; i < m->desc->op_count; i++) {
		const kymo_op_desc_t *desc = &m->desc->ops[i];
		const struct table_after *after = after_of(m, desc->name);
		const unsigned args = m->args ? m->args[i].count : 0;
		struct table_op *op = &d->ops[i];

		op->fields = fields;
		fields += desc->field_count;
		if (!desc->fields)
			continue;
		if (!table_layout(desc, args ? &m->arg_rows[m->args[i].first] : NULL, args, op))
			return false;
		for (uint32_t k = 0; m->behind && m->behind[i] && k < desc->field_count; k++)
			op->fields[k].behind = m->behind_rows[m->behind[i] + k];
		op->after = after ? after->run : NULL;
	}
	keep_update(d);
	return true;
}

static struct table_domain *domain_new(const struct table_model *m, kymo_status_t *status)
{
	struct table_domain *d = calloc(1, sizeof(*d));
	size_t fields = 1;

	*status = KYMO_ERROR_NO_MEMORY;
	if (!d)
		return NULL;
	for (uint32_t i = 0; i < m->desc->op_count; i++)
		fields += m->desc->ops[i].field_count;
	d->model = m;
	d->info.desc = m->desc;
	d->info.encode = domain_encode;
	d->info.wanted = contexts_changed;
	d->info.flush = flush;
	d->info.late = m->flush != NULL;
	d->info.ops = calloc(m->desc->op_count, sizeof(*d->info.ops));
	d->ops = calloc(m->desc->op_count, sizeof(*d->ops));
	d->fields = calloc(fields, sizeof(*d->fields));
	if (d->info.ops && d->ops && d->fields) {
		*status = KYMO_ERROR_INVALID_ARGUMENT;
		if (lay_out(m, d))
			return d;
	}
	free(d->info.ops);
	free(d->ops);
	free(d->fields);
	free(d);
	return NULL;
}

/* The same functions as far as both go: then one may be older than the other. */
static bool descriptions_agree(const kymo_domain_desc_t *a, const kymo_domain_desc_t *b)
{
	for (uint32_t i = 0; i < a->op_count && i < b->op_count; i++)
		if (strcmp(a->ops[i].name, b->ops[i].name) != 0 ||
		    a->ops[i].field_count != b->ops[i].field_count)
			return false;
	return true;
}

/* Caller holds the lock. */
static struct table_domain *domain_find(const char *name)
{
	struct table_domain *d = domains;

	kymo_assert_held(&lock);
	while (d && strcmp(d->info.desc->name, name) != 0)
		d = d->next;
	return d;
}

/*
 * The model's domain. Made and registered with core if it is the first of its name. Others who come
 * meanwhile use it already; their slots are set when core knows it.
 */
static kymo_status_t domain_get(struct table_model *m, struct table_domain **out)
{
	struct table_domain *d;
	struct cap_domain *registered;
	kymo_status_t status = KYMO_OK;
	bool made = false;

	pthread_mutex_lock(&lock);
	d = domain_find(m->desc->name);
	if (d && !descriptions_agree(d->info.desc, m->desc)) {
		status = KYMO_ERROR_INCOMPATIBLE;
	} else if (d) {
		status = (kymo_status_t)atomic_load(&d->status);
	} else {
		d = domain_new(m, &status);
		if (d) {
			made = m->borrowed = true;
			d->next = domains;
			domains = d;
		}
	}
	pthread_mutex_unlock(&lock);
	if (made) {
		status = cap_domain_register(&d->info, &registered);
		atomic_store(&d->status, status);
	}
	*out = d;
	return status;
}

/* ---- slots ---- */

static bool is_thunk(const void *entry)
{
	uintptr_t at = (uintptr_t)entry - (uintptr_t)table_thunks;

	return at < (uintptr_t)TABLE_SLOTS * TABLE_THUNK_SIZE;
}

static const void *thunk_of(const struct table_slot *s)
{
	return table_thunks + (size_t)(s - table_slots) * TABLE_THUNK_SIZE;
}

/* A free slot at or above `*from`; caller holds the lock. */
static struct table_slot *slot_free(uint32_t *from)
{
	kymo_assert_held(&lock);
	while (*from < TABLE_SLOTS) {
		struct table_slot *s = &table_slots[(*from)++];

		if (!s->next)
			return s;
	}
	return NULL;
}

static bool to_wrap(const struct table_part *p, uint32_t i)
{
	return p->entries[i] && !is_thunk(p->entries[i]);
}

static uint32_t slots_left(void)
{
	uint32_t left = TABLE_SLOTS;

	for (uint32_t i = 0; i < slots_used; i++)
		left -= table_slots[i].next != NULL;
	return left;
}

static void slot_set(struct table_slot *s, struct table_given *g, const struct table_part *p,
		     uint32_t i)
{
	struct table_domain *d = g->domain;
	uint32_t op = p->first_op + i;
	const bool known = i < p->known && op < d->info.desc->op_count;

	s->entry = i;
	s->place = &p->entries[i];
	s->given = g;
	s->op = known ? &d->ops[op] : NULL;
	s->cap = known ? &d->info.ops[op] : NULL;
	s->stack_words = known ? d->ops[op].stack_words : 0;
	atomic_store(&s->calls, 0);
	s->next = p->entries[i];
}

/* Program threads may be calling through the table: each entry changes at once. */
static void place_store(void **place, const void *function)
{
	__atomic_store_n(place, (void *)(uintptr_t)function, __ATOMIC_RELEASE);
}

/* Caller holds the lock; there is room. */
static void part_wrap(struct table_given *g, const struct table_part *p)
{
	const bool wanted = domain_wanted(g->domain);
	uint32_t from = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		struct table_slot *s = to_wrap(p, i) ? slot_free(&from) : NULL;

		if (!s)
			continue;
		slot_set(s, g, p, i);
		slot_update(s, wanted);
		place_store(s->place, thunk_of(s));
		if (from > slots_used)
			slots_used = from;
	}
}

static kymo_status_t wrap(struct table_domain *d, const struct table_part *parts, unsigned count,
			  uint64_t *token)
{
	struct table_given *list = NULL, *g;
	uint32_t needed = 0;
	bool failed = false;

	for (unsigned p = 0; p < count; p++)
		for (uint32_t i = 0; i < parts[p].count; i++)
			needed += to_wrap(&parts[p], i);
	if (needed > slots_left())
		return KYMO_ERROR_LIMIT;
	for (unsigned p = 0; p < count && !failed; p++) {
		g = malloc(sizeof(*g));
		failed = !g;
		if (g)
			*g = (struct table_given){d, 0, parts[count - 1 - p].name, NULL, 0, list};
		list = g ? g : list;
	}
	for (g = list; failed && g; g = list) {
		list = g->next;
		free(g);
	}
	if (failed)
		return KYMO_ERROR_NO_MEMORY;
	*token = ++last_token;
	for (unsigned p = 0; p < count; p++) {
		g = list;
		list = g->next;
		g->token = *token;
		g->place = parts[p].entries;
		g->next = givens;
		givens = g;
		part_wrap(g, &parts[p]);
	}
	return KYMO_OK;
}

/* ---- other tools' wrappers ---- */

/* The slot behind a place of some table; caller holds the lock. NULL: none, or no more. */
static struct table_slot *slot_at(void **place)
{
	kymo_assert_held(&lock);
	for (uint32_t i = 0; i < slots_used; i++)
		if (table_slots[i].next && table_slots[i].place == place)
			return &table_slots[i];
	return NULL;
}

static void *intercept_read(void *data, uint32_t index)
{
	struct table_slot *s;
	void *next;

	pthread_mutex_lock(&lock);
	s = slot_at((void **)data + index);
	next = s ? s->next : NULL;
	pthread_mutex_unlock(&lock);
	return next;
}

static void intercept_store(void *data, uint32_t index, void *_Atomic *head)
{
	struct table_slot *s;

	pthread_mutex_lock(&lock);
	s = slot_at((void **)data + index);
	if (s) {
		__atomic_store_n(&s->next, atomic_load(head), __ATOMIC_RELEASE);
		slot_update(s, domain_wanted(s->given->domain));
	}
	pthread_mutex_unlock(&lock);
}

static void announce_part(struct table_domain *d, uint64_t token, const struct table_part *p)
{
	static const struct intercept_source source = {intercept_read, intercept_store};
	const kymo_table_info_t info = {
		.domain = d->info.desc,
		.part = p->name,
		.version = p->version,
		.instance = p->instance,
		.entries = p->count,
		.first_op = p->first_op,
		.known = p->known < p->count ? p->known : p->count,
		.slots = p->entries,
	};
	uint64_t number = intercept_add(&info, &source, p->entries);

	pthread_mutex_lock(&lock);
	for (struct table_given *g = givens; g; g = g->next) {
		if (g->token == token && g->place == p->entries) {
			g->intercept = number;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

/* Takes tools' wrappers out of a table that is given back. */
static void retire(uint64_t token)
{
	uint64_t number;

	do {
		number = 0;
		pthread_mutex_lock(&lock);
		for (struct table_given *g = givens; g && !number; g = g->next) {
			if (g->token == token && g->intercept) {
				number = g->intercept;
				g->intercept = 0;
			}
		}
		pthread_mutex_unlock(&lock);
		if (number)
			intercept_gone(number);
	} while (number);
}

kymo_status_t table_take(struct table_model *model, const struct table_part *parts,
			 unsigned part_count, uint64_t *token)
{
	static pthread_once_t prepared = PTHREAD_ONCE_INIT;
	struct table_domain *d;
	kymo_status_t status;

	if (TABLE_GP_COUNT == 0)
		return KYMO_ERROR_UNSUPPORTED;
	if (!table_describe(model))
		return KYMO_ERROR_NO_MEMORY;
	pthread_once(&prepared, once);
	status = domain_get(model, &d);
	if (status != KYMO_OK)
		return status;
	pthread_mutex_lock(&lock);
	status = wrap(d, parts, part_count, token);
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; status == KYMO_OK && i < part_count; i++)
		announce_part(d, *token, &parts[i]);
	if (status == KYMO_ERROR_LIMIT)
		cap_note(2, model->desc->name,
			 "a table was not wrapped: %u entries are wrapped already", TABLE_SLOTS);
	return status;
}

/* ---- giving back ---- */

static void slot_release(struct table_slot *s)
{
	if (__atomic_load_n(s->place, __ATOMIC_ACQUIRE) == thunk_of(s))
		place_store(s->place, s->next);
	atomic_store(&s->target, s->next);
	s->next = NULL;
}

void table_return(uint64_t token)
{
	struct table_given **at = &givens;

	flush(0);
	retire(token);
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < slots_used; i++)
		if (table_slots[i].next && table_slots[i].given->token == token)
			slot_release(&table_slots[i]);
	while (*at) {
		struct table_given *g = *at;

		if (g->token == token) {
			*at = g->next;
			free(g);
		} else {
			at = &g->next;
		}
	}
	pthread_mutex_unlock(&lock);
}
