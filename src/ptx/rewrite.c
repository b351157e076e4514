/* SPDX-License-Identifier: Apache-2.0 */
/* See rewrite.h: from the module to the result. */
#include "ptx/rewrite.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/body.h"

enum { ACTIVEMASK = 602 /* the version that has it */ };

/* ---- words ---- */

static void add_escaped(struct text *out, const char *s, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (isgraph((unsigned char)s[i]) && s[i] != '%')
			text_add_bytes(out, s + i, 1);
		else
			text_addf(out, "%%%02X", (unsigned)(unsigned char)s[i]);
	}
}

static void add_place(struct text *out, const struct ptx_module *m, struct ptx_place p)
{
	const struct ptx_file *f = ptx_module_file(m, p.file);

	text_addf(out, " %u %u ", p.line, p.column);
	if (f)
		add_escaped(out, m->text + f->name.at, f->name.length);
	text_add(out, "\n");
}

bool ptx_refuse(const char *kernel, const char *why, struct text *out)
{
	text_add(out, "kymo-rewrite 1\nrefused ");
	add_escaped(out, kernel, strlen(kernel));
	text_add(out, " ");
	add_escaped(out, why, strlen(why));
	text_add(out, "\nsource 0\n");
	return !out->failed;
}

/* ---- what makes a kernel be left alone ---- */

static bool is(const struct ptx_module *m, struct ptx_word w, const char *text)
{
	return ptx_word_is(m->text, w, text);
}

static const char *refused_function(const struct ptx_module *m, const struct ptx_item *i)
{
	static const struct {
		const char *name, *why;
	} known[] = {
		{"vprintf", "it prints"},
		{"malloc", "it allocates memory"},
		{"free", "it allocates memory"},
		{"cudaLaunchDevice", "it starts kernels"},
		{"cudaLaunchDeviceV2", "it starts kernels"},
		{"cudaGetParameterBuffer", "it starts kernels"},
		{"cudaGetParameterBufferV2", "it starts kernels"},
		{"__cudaCDP2LaunchDeviceV2", "it starts kernels"},
		{"__cudaCDP2GetParameterBufferV2", "it starts kernels"},
		{"__assertfail", NULL},
	};

	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
		if (is(m, i->name, known[k].name))
			return known[k].why;
	return i->external ? "it is linked from several parts, of which one is seen" : NULL;
}

static const char *refused_item(const struct ptx_module *m, const struct ptx_item *i)
{
	if (i->kind == PTX_FUNCTION && !i->body)
		return refused_function(m, i);
	if (i->kind != PTX_VARIABLE || is(m, i->keyword, ".shared"))
		return NULL;
	if (i->external)
		return "it is linked from several parts, of which one is seen";
	if (!is(m, i->keyword, ".global") && !is(m, i->keyword, ".const"))
		return "it has texture or surface variables";
	return NULL;
}

static const char *refused_module(const struct ptx_module *m)
{
	for (uint32_t i = 0; i < m->item_count; i++) {
		const struct ptx_item *item = &m->items[i];
		const char *why = item->kept ? refused_item(m, item) : NULL;
		uint32_t at = item->keyword.at + item->keyword.length;

		if (why)
			return why;
		if (item->kind == PTX_HEAD && is(m, item->keyword, ".address_size") &&
		    is(m, ptx_word_next(m->text, &at, item->end), "32"))
			return "its addresses are of 32 bits";
	}
	return NULL;
}

/* ---- the source ---- */

/* From one point to the next, or the end. */
static uint32_t directive_end(const struct ptx_module *m, uint32_t at, uint32_t end)
{
	for (at++; at < end && m->text[at] != '.'; at++)
		;
	return at;
}

/* What stands between a kernel's parameters and its body: as few registers as it was to have would not do. */
static void add_limits(struct ptx_bodies *b, const struct ptx_item *i, uint32_t at)
{
	const struct ptx_module *m = b->m;
	bool bounded = false;

	while (at < i->body) {
		const uint32_t end = directive_end(m, at, i->body);
		uint32_t word = at + 1;
		struct ptx_word w = ptx_word_next(m->text, &word, i->body);

		bounded |= is(m, w, "maxntid") || is(m, w, "reqntid");
		if ((is(m, w, "reqnctapercluster") || is(m, w, "explicitcluster")) && !b->why)
			b->why = "its groups run in clusters";
		if (!is(m, w, "maxnreg") && !is(m, w, "minnctapersm"))
			text_add_bytes(&b->source, m->text + at, end - at);
		at = end;
	}
	if (!bounded)
		text_add(&b->source, ".maxntid 1024, 1, 1\n");
}

static void add_function(struct ptx_bodies *b, const struct ptx_item *i)
{
	const struct ptx_module *m = b->m;
	uint32_t at = i->name.at + i->name.length;

	while (at < i->body && m->text[at] != '(' && m->text[at] != '.')
		at++;
	if (at < i->body && m->text[at] == '(')
		at = ptx_closing(m->text, at, i->body);
	if (!at)
		at = i->body;
	while (at < i->body && isspace((unsigned char)m->text[at]))
		at++;
	text_add_bytes(&b->source, m->text + i->start, at - i->start);
	text_add(&b->source, "\n");
	if (i->kind == PTX_KERNEL)
		add_limits(b, i, at);
	else
		text_add_bytes(&b->source, m->text + at, i->body - at);
	ptx_body(b, i);
	text_add(&b->source, "\n");
}

static bool wanted(const struct ptx_item *i)
{
	return i->kept || (i->kind == PTX_OTHER && !i->name.length);
}

static void add_source(struct ptx_bodies *b)
{
	const struct ptx_module *m = b->m;
	const uint32_t version = m->version < ACTIVEMASK ? ACTIVEMASK : m->version;

	text_addf(&b->source, ".version %u.%u\n.target ", version / 100, version % 100);
	text_add_bytes(&b->source, m->text + m->target.at, m->target.length);
	text_add(&b->source, "\n.address_size 64\n"
			     ".visible .global .align 8 .u64 kymo_context;\n");
	for (uint32_t i = 0; i < m->item_count && !b->failed; i++) {
		const struct ptx_item *item = &m->items[i];

		if (!wanted(item))
			continue;
		if (item->body) {
			add_function(b, item);
			continue;
		}
		text_add_bytes(&b->source, m->text + item->start, item->end - item->start);
		text_add(&b->source, "\n");
	}
	b->failed |= b->source.failed;
}

/* ---- the result ---- */

static void add_blocks(struct text *out, const struct ptx_bodies *b)
{
	for (uint32_t i = 0; i < b->block_count; i++) {
		const struct ptx_block *x = &b->blocks[i];

		text_addf(out, "block %u ", i);
		add_escaped(out, b->m->text + x->function.at, x->function.length);
		text_addf(out, " %s", x->kind);
		add_place(out, b->m, x->place);
	}
	for (uint32_t i = 0; i < b->site_count; i++) {
		const struct ptx_site *s = &b->sites[i];

		text_addf(out, "site %u %u %s %s %u 1", i, s->block, s->access.kind,
			  s->access.space, s->access.bytes);
		add_place(out, b->m, s->place);
	}
}

static int by_work(const void *a, const void *b)
{
	const struct ptx_work *x = a, *y = b;
	int order;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	order = strcmp(x->what, y->what);
	if (order)
		return order;
	if (x->place.file != y->place.file)
		return x->place.file < y->place.file ? -1 : 1;
	return x->place.line < y->place.line ? -1 : x->place.line > y->place.line;
}

static void add_works(struct text *out, struct ptx_bodies *b)
{
	uint64_t times = 0;

	if (b->work_count)
		qsort(b->work, b->work_count, sizeof(*b->work), by_work);
	for (uint32_t i = 0; i < b->work_count; i++) {
		const struct ptx_work *w = &b->work[i];

		times += w->times;
		if (i + 1 < b->work_count && by_work(w, w + 1) == 0)
			continue;
		text_addf(out, "work %u %s %llu", w->block, w->what, (unsigned long long)times);
		add_place(out, b->m, w->place);
		times = 0;
	}
}

/* Numbers of records as those who read them have them: behind accesses, blocks and the end of kernels. */
static void add_regions(struct text *out, const struct ptx_bodies *b)
{
	for (uint32_t i = 0; i < b->region_count; i++) {
		const struct ptx_region *r = &b->regions[i];

		text_addf(out, "region %u %u %s ", b->site_count + b->block_count + 1 + i, r->block,
			  r->begins ? "begin" : "end");
		add_escaped(out, b->m->text + r->name.at, r->name.length);
		add_place(out, b->m, r->place);
	}
}

/* Those that the program may change: the rewritten module has its own, which are to get their values. */
static void add_variables(struct text *out, const struct ptx_module *m)
{
	for (uint32_t i = 0; i < m->item_count; i++) {
		const struct ptx_item *v = &m->items[i];

		if (!v->kept || v->kind != PTX_VARIABLE || is(m, v->keyword, ".shared"))
			continue;
		text_addf(out, "variable %s %s ", v->visible ? "visible" : "hidden",
			  v->initialised ? "initialised" : "plain");
		add_escaped(out, m->text + v->name.at, v->name.length);
		text_add(out, "\n");
	}
}

static bool add_result(struct text *out, struct ptx_bodies *b, const char *kernel)
{
	text_add(out, "kymo-rewrite 1\nkernel ");
	add_escaped(out, kernel, strlen(kernel));
	text_add(out, "\n");
	add_blocks(out, b);
	add_works(out, b);
	add_regions(out, b);
	add_variables(out, b->m);
	text_addf(out, "source %zu\n", b->source.length);
	text_add_bytes(out, b->source.s ? b->source.s : "", b->source.length);
	return !out->failed;
}

bool ptx_rewrite(const struct ptx_request *q, struct text *out)
{
	struct ptx_module m;
	struct ptx_bodies b = {.m = &m, .addresses = q->addresses, .times = q->times};
	const char *why = ptx_module_read(&m, q->text, q->length);
	bool ok;

	if (!why && !ptx_module_keep(&m, q->kernel))
		why = "its module's PTX does not have it";
	if (!why)
		why = refused_module(&m);
	if (!why) {
		add_source(&b);
		why = b.failed ? "there was no memory for it" : b.why;
	}
	ok = why ? ptx_refuse(q->kernel, why, out) : add_result(out, &b, q->kernel);
	ptx_bodies_release(&b);
	ptx_module_release(&m);
	return ok;
}
