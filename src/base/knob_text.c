/* SPDX-License-Identifier: Apache-2.0 */
/* Knob tables as text: present values, help, configuration files; see knob.h. */
#include "base/knob.h"

#include <inttypes.h>
#include <string.h>

static const void *member(const struct knob_table *t, unsigned row)
{
	return (const char *)t->values + t->rows[row].offset;
}

static void size_text(uint64_t v, char *out, size_t size)
{
	static const char suffixes[] = "\0KMGT";
	unsigned i = 0;

	while (v && v % 1024 == 0 && i < 4) {
		v /= 1024;
		i++;
	}
	snprintf(out, size, "%" PRIu64 "%.1s", v, &suffixes[i]);
}

static void enum_text(const char *values, int index, char *out, size_t size)
{
	for (; index > 0 && strchr(values, '|'); index--)
		values = strchr(values, '|') + 1;
	snprintf(out, size, "%.*s", (int)strcspn(values, "|"), values);
}

bool knob_text(const struct knob_table *t, unsigned row, char *out, size_t size)
{
	const struct knob *k = &t->rows[row];
	const void *m = member(t, row);
	const char *s;

	out[0] = '\0';
	switch (k->type) {
	case KNOB_FLAG:
		snprintf(out, size, "%d", *(const bool *)m);
		return *(const bool *)m;
	case KNOB_INTEGER:
		snprintf(out, size, "%" PRIu64, *(const uint64_t *)m);
		break;
	case KNOB_SIZE:
		size_text(*(const uint64_t *)m, out, size);
		break;
	case KNOB_DURATION:
		snprintf(out, size, "%.9g", (double)*(const uint64_t *)m / 1e9);
		break;
	case KNOB_ENUM:
		enum_text(k->values, *(const int *)m, out, size);
		break;
	default:
		s = *(const char *const *)m;
		snprintf(out, size, "%s", s ? s : "");
		return s != NULL;
	}
	return k->fallback || t->source[row] != KNOB_DEFAULT;
}

/* ---- help ---------------------------------------------------------------------------------- */

enum { HELP_INDENT = 28, HELP_WIDTH = 98 };

/* Prints words wrapped to the right-hand column; the cursor is at `column`. */
static void wrap(FILE *out, const char *s, int *column)
{
	while (*s) {
		int n = (int)strcspn(s, " ");

		if (*column + n + 1 > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_INDENT, "");
			*column = HELP_INDENT;
		} else if (*column > HELP_INDENT) {
			fputc(' ', out);
			++*column;
		}
		fprintf(out, "%.*s", n, s);
		*column += n;
		s += n;
		s += strspn(s, " ");
	}
}

static void help_row(const struct knob_table *t, unsigned row, FILE *out)
{
	const struct knob *k = &t->rows[row];
	const char *value = k->metavar ? k->metavar : k->values ? k->values : "";
	char left[160], note[200], name[80];
	int column;

	snprintf(left, sizeof(left), "  %c%c%s --%s%s%s%s", k->letter ? '-' : ' ',
		 k->letter ? k->letter : ' ', k->letter ? "," : " ", k->name,
		 k->flags & KNOB_OPTIONAL ? "[="
		 : k->type == KNOB_FLAG   ? ""
					  : " ",
		 k->type == KNOB_FLAG ? "" : value, k->flags & KNOB_OPTIONAL ? "]" : "");
	column = fprintf(out, "%s", left);
	if (column >= HELP_INDENT) {
		fputc('\n', out);
		column = 0;
	}
	column += fprintf(out, "%*s", HELP_INDENT - column, "");
	wrap(out, k->doc, &column);
	if (k->values && k->metavar) {
		snprintf(note, sizeof(note), "(%s)", k->values);
		wrap(out, note, &column);
	}
	knob_environment_name(t, row, name, sizeof(name));
	if (k->fallback)
		snprintf(note, sizeof(note), "[%s; %s]", k->fallback, name);
	else
		snprintf(note, sizeof(note), "[%s]", name);
	wrap(out, note, &column);
	fputc('\n', out);
}

static bool first_of_group(const struct knob_table *t, unsigned row)
{
	for (unsigned i = 0; i < row; i++)
		if (strcmp(t->rows[i].group, t->rows[row].group) == 0)
			return false;
	return true;
}

void knob_help(const struct knob_table *t, FILE *out)
{
	for (unsigned i = 0; i < t->count; i++) {
		if (!first_of_group(t, i))
			continue;
		fprintf(out, "%s%s:\n", i ? "\n" : "", t->rows[i].group);
		for (unsigned j = i; j < t->count; j++)
			if (strcmp(t->rows[j].group, t->rows[i].group) == 0)
				help_row(t, j, out);
	}
}

void knob_write_config(const struct knob_table *t, FILE *out)
{
	for (unsigned i = 0; i < t->count; i++) {
		const struct knob *k = &t->rows[i];

		if (strcmp(k->name, "config") == 0)
			continue; /* a file does not name itself */
		fprintf(out, "# %s%s%s%s\n", k->doc, k->values ? " (" : "",
			k->values ? k->values : "", k->values ? ")" : "");
		fprintf(out, "%s%s%s%s = %s\n\n", k->fallback ? "" : "# ", t->command,
			*t->command ? "." : "", k->name,
			k->fallback            ? k->fallback
			: k->type == KNOB_FLAG ? "no"
					       : "");
	}
}
