/* SPDX-License-Identifier: Apache-2.0 */
/* See brief_names.h. */
#include "analysis/brief_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/plain.h"
#include "stream/demangle.h"

enum { WORD_MOST = 12 };

static const char unnamed[] = "(anonymous namespace)", calling[] = "operator()";

/* ---- parts of a name --------------------------------------------------------------------------- */

/* The length of the part of a name that `s` begins with; 0: it begins with none. */
static size_t part_length(const char *s)
{
	size_t n = 0;

	if (strncmp(s, unnamed, sizeof(unnamed) - 1) == 0)
		return sizeof(unnamed) - 1;
	if (strncmp(s, calling, sizeof(calling) - 1) == 0)
		return sizeof(calling) - 1;
	while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '~' || s[n] & 0x80)
		n++;
	return n;
}

static bool has_another(const char *end)
{
	return end[0] == ':' && end[1] == ':';
}

/* Such a name says nothing by itself: any library may have one, and a second that is called the same but for a number. */
static bool is_generic(const char *s, size_t length)
{
	static const char *const names[] = {"kernel", "device_kernel", "kernel_impl", "run",
					    "invoke", "execute",       "apply",       "main",
					    "func",   "impl",          calling};

	while (length && isdigit((unsigned char)s[length - 1]))
		length--;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == length && strncasecmp(s, names[i], length) == 0)
			return true;
	return false;
}

/* The part at `s`, behind which another follows, can be left out. */
static bool is_needless(const char *s, size_t length)
{
	const char *next = s + length + 2;
	size_t n = part_length(next);

	if (strncmp(s, unnamed, sizeof(unnamed) - 1) == 0)
		return true;
	while (strncmp(next, unnamed, sizeof(unnamed) - 1) == 0 && has_another(next + n)) {
		next += n + 2;
		n = part_length(next);
	}
	return n && (has_another(next + n) || !is_generic(next, n));
}

static void add_own_parts(struct text *out, const char *s)
{
	while (*s) {
		size_t n = part_length(s);
		bool another = n && has_another(s + n);

		if (!another || !is_needless(s, n))
			text_add_bytes(out, s, n + 2 * another + !n);
		s += n + 2 * another + !n;
	}
}

static void add_shortened(struct text *out, const char *s)
{
	name_shorten(out, s);
}

/* ---- several names ----------------------------------------------------------------------------- */

static const char *string(const struct text *t)
{
	return t->s ? t->s : "";
}

static bool is_unique(const struct text *texts, const struct text *before, unsigned count,
		      unsigned at)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(string(&texts[i]), string(&texts[at])) == 0 &&
		    strcmp(string(&before[i]), string(&before[at])) != 0)
			return false;
	return true;
}

/* Changes those that are too wide, but where two different ones would become equal. */
static void change(struct text *names, unsigned count, unsigned columns,
		   void (*add)(struct text *out, const char *name))
{
	struct text changed[BRIEF_NAMES_MOST] = {0};
	bool unique[BRIEF_NAMES_MOST];

	for (unsigned i = 0; i < count; i++) {
		if (plain_width(string(&names[i])) > columns)
			add(&changed[i], string(&names[i]));
		else
			text_add(&changed[i], string(&names[i]));
	}
	for (unsigned i = 0; i < count; i++)
		unique[i] = is_unique(changed, names, count, i);
	for (unsigned i = 0; i < count; i++) {
		text_release(unique[i] ? &names[i] : &changed[i]);
		if (unique[i])
			names[i] = changed[i];
	}
}

/* The begin of the word at `at`, if it is near. */
static size_t word_at(const char *s, size_t at)
{
	size_t begin = at;

	while (begin && at - begin < WORD_MOST && part_length(s + begin - 1))
		begin--;
	if (begin && at - begin == WORD_MOST)
		begin = at;
	while (begin && ((unsigned char)s[begin] & 0xc0) == 0x80)
		begin--;
	return begin;
}

/* Where a name begins to differ from those that are like it until they are cut; 0: none is. */
static size_t differs_at(const struct text *names, unsigned count, unsigned at, size_t cut)
{
	const char *s = string(&names[at]);
	size_t most = 0;

	for (unsigned i = 0; i < count; i++) {
		const char *other = string(&names[i]);
		size_t n = 0;

		while (s[n] && s[n] == other[n])
			n++;
		if (s[n] != other[n] && n >= cut && n > most)
			most = n;
	}
	return word_at(s, most);
}

static void add_cut(struct text *out, const char *s, size_t from, unsigned columns)
{
	unsigned used;

	if (plain_width(s) <= columns) {
		plain_add(out, s, strlen(s));
		return;
	}
	if (from) {
		used = plain_add_cut(out, s, columns / 3) + 3;
		text_add(out, "...");
		add_cut(out, s + from, 0, columns - used);
		return;
	}
	plain_add_cut(out, s, columns - 3);
	text_add(out, "...");
}

void brief_names(struct text *names, unsigned count, unsigned columns)
{
	struct text cut[BRIEF_NAMES_MOST] = {0};

	change(names, count, 0, add_shortened);
	change(names, count, columns, add_own_parts);
	for (unsigned i = 0; i < count; i++)
		add_cut(&cut[i], string(&names[i]), differs_at(names, count, i, columns - 3),
			columns);
	for (unsigned i = 0; i < count; i++) {
		text_release(&names[i]);
		names[i] = cut[i];
	}
}

void brief_name(struct text *out, const char *name, unsigned columns)
{
	struct text brief = {0};

	text_add(&brief, name);
	brief_names(&brief, 1, columns);
	text_add(out, string(&brief));
	text_release(&brief);
}
