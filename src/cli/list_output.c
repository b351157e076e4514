/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in all forms of tables; see list_output.h. */
#include "cli/list_output.h"

#include <string.h>

#include "base/plain.h"
#include "cli/cli.h"

static int format;

enum report_format list_format(void)
{
	return (enum report_format)format;
}

/* The value of the option at `argv[0]`, and how many words it takes; NULL: it is another word. */
static const char *value_at(char *const *argv, int *words)
{
	*words = 2;
	if (strcmp(argv[0], "-f") == 0 || strcmp(argv[0], "--format") == 0)
		return argv[1] ? argv[1] : "";
	*words = 1;
	if (strncmp(argv[0], "--format=", 9) == 0)
		return argv[0] + 9;
	return strncmp(argv[0], "-f", 2) == 0 ? argv[0] + 2 : NULL;
}

/* The place of a word in REPORT_FORMATS; -1: it is none of them. */
static int find_format(const char *word)
{
	const char *at = REPORT_FORMATS;

	for (int i = 0; *at; i++) {
		size_t n = strcspn(at, "|");

		if (n == strlen(word) && strncmp(at, word, n) == 0)
			return i;
		at += n + (at[n] != 0);
	}
	return -1;
}

bool list_take_format(int *argc, char **argv)
{
	const char *before = NULL;
	int kept = 0, words;

	for (int i = 0; i < *argc; i += words) {
		const char *value = value_at(argv + i, &words);

		if (!value) {
			argv[kept++] = argv[i];
			continue;
		}
		format = find_format(value);
		if (format < 0) {
			cli_usage("list", "--format takes " REPORT_FORMATS ", not \"%s\"", value);
			return false;
		}
		if (before)
			cli_given_again("--format", before, value, NULL);
		before = value;
	}
	argv[kept] = NULL;
	*argc = kept;
	return true;
}

void list_begin(struct list_output *o, const char *name, const char *title,
		const char *const *columns, const unsigned *widths)
{
	*o = (struct list_output){.report = {.alone = true}, .widths = widths};
	o->table = report_table(&o->report, name, title);
	for (; o->table && *columns; columns++)
		table_column(o->table, *columns, *columns, CELL_TEXT);
}

void list_row(struct list_output *o, const char *const *texts)
{
	struct cell *cells = o->table ? table_row(o->table) : NULL;

	for (unsigned c = 0; cells && c < o->table->column_count; c++)
		if (texts[c])
			cell_text(o->table, &cells[c], texts[c]);
}

static void print_line(const struct list_output *o, const struct cell *cells)
{
	unsigned count = o->table->column_count, pending = 0;

	for (unsigned c = 0; c < count; c++) {
		const char *s = cells[c].none ? "" : cells[c].s;
		unsigned width = c + 1 < count ? o->widths[c] : 0, taken = plain_width(s);

		if (*s) {
			plain_printf(stdout, "%*s%s", (int)pending, "", s);
			pending = 0;
		}
		pending += (taken < width ? width - taken : 0) + 1;
	}
	putchar('\n');
}

int list_end(struct list_output *o)
{
	bool failed = !o->table || o->table->failed || o->report.failed;

	for (uint32_t r = 0; !failed && format == REPORT_TEXT && r < o->table->row_count; r++)
		print_line(o, o->table->cells + (size_t)r * o->table->column_count);
	if (!failed && format != REPORT_TEXT)
		report_print(&o->report, list_format(), stdout);
	report_release(&o->report);
	if (failed)
		cli_error("not enough memory");
	return failed ? CLI_FAILURE : CLI_OK;
}
