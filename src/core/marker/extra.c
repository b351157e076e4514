/* SPDX-License-Identifier: Apache-2.0 */
/* What few ranges have: texts without a number, payloads, and callbacks that are told of them. */
#include "core/marker/range.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "core/tool/tool.h"
#include "core/activity/activity.h"

struct range_extra *marker_extra(struct range *r)
{
	if (!r->extra)
		r->extra = calloc(1, sizeof(*r->extra));
	if (r->extra && !r->has_extra) {
		r->has_extra = 1;
		r->extra->text = r->extra->payload = 0;
	}
	return r->extra;
}

void marker_keep_text(struct range *r, const char *text)
{
	struct range_extra *x = marker_extra(r);

	if (!x)
		return;
	x->text = (uint16_t)strnlen(text, sizeof(x->name));
	memcpy(x->name, text, x->text);
}

bool marker_set(struct marker_thread *m, struct range *r, const kymo_marker_t *k)
{
	struct range_extra *x;
	int saved = errno;

	if (!k || k->size < sizeof(*k)) {
		marker_fault(FAULT_NULL);
		return false;
	}
	if (k->string)
		r->name = marker_string_id(k->string);
	else
		marker_set_name(m, r, k->name);
	if (k->string && !r->name && k->string->text)
		marker_keep_text(r, k->string->text);
	r->domain = marker_string_id(k->domain);
	r->category = marker_string_id(k->category);
	r->color = k->color;
	x = k->payload && k->payload_count ? marker_extra(r) : NULL;
	if (x)
		x->payload = (uint16_t)marker_payload_put(x->data, 0, k->payload, k->payload_count);
	errno = saved;
	return true;
}

/* ---- callbacks ---- */

static uint64_t *words_of(struct range_extra *x, uint32_t count)
{
	return vec_reserve(&x->words, &x->word_room, 0, count) ? x->words : NULL;
}

void marker_extra_free(struct range_extra *x)
{
	if (x)
		free(x->words);
	free(x);
}

void callbacks_call(struct range *r, struct cap_op *op, enum cap_phase phase)
{
	struct cap_frame f = {.scope = r->parent,
			      .callbacks = r->callbacks,
			      .op = op,
			      .parent = cap_current_id()};
	struct cap_thread *t = cap_thread_current;
	struct range_extra *x = marker_extra(r);
	char name[KYMO_STRING_MAX + 1];
	kymo_marker_args_t args = {
		.size = sizeof(args),
		.name = marker_string_text(r->name),
		.domain = marker_string_text(r->domain),
		.category = marker_string_text(r->category),
		.color = r->color,
		.scope = r->scope,
	};

	if (!x)
		return;
	if (phase == CAP_ENTER)
		x->id = take_id(t);
	f.id = x->id;
	if (x->text) {
		memcpy(name, x->name, x->text);
		name[x->text] = '\0';
		args.name = name;
	}
	if (words_of(x, r->callbacks->count))
		core_callbacks(&f, &args, phase, x->words, NULL, NULL);
}

void callbacks_end(struct range *r, struct cap_op *op)
{
	callbacks_call(r, op, CAP_EXIT);
	core_subscribers_release(r->callbacks);
	r->callbacks = NULL;
}

void marker_write_scope(const struct range *r, uint64_t end)
{
	const char *text =
		r->has_extra && r->extra->text ? r->extra->name : marker_string_text(r->name);
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &core_scope_ops[0], NULL, r->start, end, SCOPE_FIELDS))
		return;
	wire_unsigned(&e, SCOPE_ID, (uint64_t)r->scope);
	wire_unsigned(&e, SCOPE_PARENT, (uint64_t)r->parent);
	wire_array(&e, SCOPE_NAME, text,
		   r->has_extra && r->extra->text ? r->extra->text : strlen(text), 1,
		   KYMO_STRING_MAX);
	text = marker_string_text(r->domain);
	wire_string(&e, SCOPE_DOMAIN, text, KYMO_STRING_MAX);
	cap_activity_commit(&f, &e);
}
