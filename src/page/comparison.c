/* SPDX-License-Identifier: Apache-2.0 */
/* See comparison.h. */
#include "page/comparison.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/names.h"
#include "base/hash.h"
#include "page/page.h"

enum { PEOPLE_ROWS = 40, OPS_MOST = 10000 /* of an item, which its link has */ };

static kymo_status_t make_report(struct comparison *c, struct report *r, bool people)
{
	c->compare.options.people = people;
	return compare_report(r, &c->compare);
}

kymo_status_t comparison_read(struct comparison *c, const char *trace,
			      const struct format_options *o)
{
	const struct compare_options options = COMPARE_DEFAULTS;
	char *const paths[] = {(char *)(uintptr_t)trace, (char *)(uintptr_t)c->with};
	kymo_status_t status = compare_read(&c->compare, paths, 1, 1, &options, o);

	if (status != KYMO_OK)
		return status;
	c->people = (struct report){.top = PEOPLE_ROWS, .more = "kymo compare --all"};
	c->programs = (struct report){.top = 0};
	if (!compare_judge(&c->compare))
		return KYMO_ERROR_NO_MEMORY;
	status = make_report(c, &c->people, true);
	return status == KYMO_OK ? make_report(c, &c->programs, false) : status;
}

void comparison_release(struct comparison *c)
{
	report_release(&c->people);
	report_release(&c->programs);
	compare_release(&c->compare);
}

/* ---- where items are in the timeline ----------------------------------------------------------- */

/* What an item of such slices is called; empty: there are none. */
static void name_of_op(const struct page_data *d, const struct page_op *op, struct text *out)
{
	const char *name = d->names[op->name];

	out->length = 0;
	if (strcmp(op->kind, "kernel") == 0) {
		text_addf(out, "kernel %s", name);
	} else if (strcmp(op->kind, "range") == 0) {
		text_add(out, "range ");
		name_fold(out, name);
	} else if (strcmp(op->kind, "call") == 0 || strcmp(op->kind, "wait") == 0) {
		text_addf(out, "%s %s", op->domain, name);
	}
}

/* Ops by what their item is called: next[op] is a further one of the same hash, + 1. */
struct op_names {
	struct map first; /* by hash: op + 1 */
	uint32_t *next;
};

static bool find_ops(struct op_names *n, const struct page_data *d)
{
	struct text name = {0};
	bool ok = true;

	n->next = calloc(d->op_count + 1u, sizeof(*n->next));
	for (uint32_t i = d->op_count; n->next && ok && i-- > 0;) {
		uint64_t hash;

		name_of_op(d, &d->ops[i], &name);
		if (!name.length)
			continue;
		hash = hash_bytes(name.s, name.length);
		n->next[i] = (uint32_t)map_get(&n->first, hash);
		ok = !name.failed && map_set(&n->first, hash, i + 1u);
	}
	text_release(&name);
	return n->next && ok;
}

/* [label, [ops]] */
static void put_link(FILE *out, const struct op_names *n, const struct page_data *d,
		     const struct compare_item *x, const char **comma)
{
	const char *wanted = compare_item_name(x), *between = "";
	uint32_t i = (uint32_t)map_get(&n->first, hash_bytes(wanted, strlen(wanted)));
	struct text name = {0};
	uint32_t count = 0;

	if (!i)
		return;
	fprintf(out, "%s[", *comma);
	json_string(out, x->label);
	fputs(", [", out);
	for (; i && count < OPS_MOST; i = n->next[i - 1]) {
		name_of_op(d, &d->ops[i - 1], &name);
		if (!name.s || strcmp(name.s, wanted) != 0)
			continue;
		fprintf(out, "%s%u", between, i - 1);
		between = ",";
		count++;
	}
	fputs("]]", out);
	*comma = ",\n";
	text_release(&name);
}

/* Hashes of the labels in rows that the page has. False: no memory. */
static bool find_shown(struct map *shown, const struct report *r)
{
	for (unsigned i = 0; i < r->table_count; i++) {
		const struct table *t = r->tables[i];
		const uint32_t rows =
			t->row_count < PAGE_TABLE_ROWS ? t->row_count : PAGE_TABLE_ROWS;

		if (strcmp(t->name, "items") != 0 && strcmp(t->name, "work") != 0)
			continue;
		for (uint32_t k = 0; k < rows; k++)
			if (!map_set(shown, hash_string(t->cells[(size_t)k * t->column_count].s),
				     1))
				return false;
	}
	return true;
}

static void put_links(FILE *out, const struct comparison *c, const struct page_data *d)
{
	struct op_names names = {0};
	struct map shown = {0};
	const char *comma = "";

	fputs("[", out);
	if (find_ops(&names, d) && find_shown(&shown, &c->programs))
		for (uint32_t i = 0; i < c->compare.item_count; i++)
			if (map_get(&shown, hash_string(c->compare.items[i].label)))
				put_link(out, &names, d, &c->compare.items[i], &comma);
	fputs("]", out);
	map_release(&shown);
	map_release(&names.first);
	free(names.next);
}

/* ------------------------------------------------------------------------------------------------ */

static void put_lines(FILE *out, const struct text_lines *l)
{
	fputs("[", out);
	for (unsigned i = 0; i < l->count; i++) {
		fputs(i ? ", " : "", out);
		json_string(out, l->lines[i]);
	}
	fputs("]", out);
}

void comparison_put(FILE *out, const struct comparison *c, const struct page_data *d,
		    const char *title)
{
	if (!c->with) {
		fputs("null", out);
		return;
	}
	fputs("{\"a\": ", out);
	json_string(out, title);
	fputs(", \"b\": ", out);
	json_string(out, c->name);
	fputs(", \"head\": ", out);
	put_lines(out, &c->programs.head);
	fputs(", \"foot\": ", out);
	put_lines(out, &c->programs.foot);
	fputs(", \"tables\": ", out);
	page_put_tables(out, &c->programs);
	fputs(", \"links\": ", out);
	put_links(out, c, d);
	fputs("}", out);
}
