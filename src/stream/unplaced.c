/* SPDX-License-Identifier: Apache-2.0 */
/* What has no place where it should go; see unplaced.h. */
#include "stream/unplaced.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

static bool is_kind(const struct unplaced *u, unsigned i, const char *what)
{
	return u->kinds[i].what == what || strcmp(u->kinds[i].what, what) == 0;
}

void unplaced_leave(struct unplaced *u, const char *what, uint64_t count, uint64_t records)
{
	unsigned i = 0;

	u->records += records;
	if (!count)
		return;
	while (i < u->used && !is_kind(u, i, what))
		i++;
	if (i == UNPLACED_KINDS) /* rather told with others than not at all */
		u->kinds[--i].what = "other things";
	else if (i == u->used)
		u->kinds[u->used++].what = what;
	u->kinds[i].count += count;
	u->kinds[i].records += records;
}

void unplaced_add(struct unplaced *u, const char *what, uint64_t count)
{
	unplaced_leave(u, what, count, 0);
}

void unplaced_lose(struct unplaced *u, const char *what, uint64_t count)
{
	unplaced_add(u, what, count);
	u->lost += count;
}

void unplaced_record(struct unplaced *u, const struct trace *t, const struct rec *r)
{
	unplaced_leave(u, t->domains[t->ops[r->op].domain].name, 1, 1);
}

void unplaced_rows(struct unplaced *u, struct trace *t, const char *table, size_t length,
		   uint64_t rows)
{
	char what[120];
	int n = snprintf(what, sizeof(what), "rows of %.*s", (int)(length < 100 ? length : 100),
			 table);

	unplaced_add(u, trace_string(t, what, (size_t)n), rows);
}

uint64_t unplaced_total(const struct unplaced *u)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < u->used; i++)
		total += u->kinds[i].count;
	return total;
}

/* Kinds that left out records as a whole, or those that did not. */
static void list_kinds(const struct unplaced *u, bool whole, struct text *list)
{
	const size_t before = list->length;
	const char *first = whole || !before ? "" : "; no whole records: ";

	for (unsigned i = 0; i < u->used; i++)
		if ((u->kinds[i].records != 0) == whole)
			text_addf(list, "%s%s (%" PRIu64 ")", list->length == before ? first : ", ",
				  u->kinds[i].what, u->kinds[i].count);
}

void unplaced_tell(const struct unplaced *u, struct stream_log *log, const char *what_is_wrong)
{
	struct text list = {0};

	list_kinds(u, true, &list);
	list_kinds(u, false, &list);
	if (u->used)
		stream_warn(log, "%s: %s", what_is_wrong,
			    list.s ? list.s : "there is no memory to say what");
	text_release(&list);
}

void unplaced_damage(struct stream_log *log, const char *path, uint64_t missing, uint64_t damaged,
		     uint64_t wrong)
{
	if (missing)
		stream_warn(log, "%s: damaged: cut, %" PRIu64 " page%s missing", path, missing,
			    missing == 1 ? " is" : "s are");
	if (damaged)
		stream_warn(log, "%s: damaged: %" PRIu64 " page%s or row%s could not be read", path,
			    damaged, plural(damaged), plural(damaged));
	if (wrong)
		stream_warn(log,
			    "%s: %" PRIu64 " value%s of another type than the column's: read as 0",
			    path, wrong, plural(wrong));
}
