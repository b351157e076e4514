/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing functions; see choose.h. */
#include "functions/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/patterns.h"
#include "base/vec.h"
#include "stream/demangle.h"

enum { BYTES_OF_INSTRUCTION = 4 }; /* where they cannot be counted */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- expressions ---- */

static bool compile(regex_t *out, const char *text, const char *whole, char why[CHOOSE_WHY])
{
	char what[120];
	int error;

	if (!text_regex_bearable(text, what, sizeof(what))) {
		snprintf(why, CHOOSE_WHY, "\"%.150s\" %s", whole, what);
		return false;
	}
	error = regcomp(out, text, REG_EXTENDED | REG_NOSUB);
	if (!error)
		return true;
	regerror(error, out, what, sizeof(what));
	snprintf(why, CHOOSE_WHY, "\"%.150s\": %s", whole, what);
	return false;
}

static bool add_pattern(struct choose_patterns *list, char *text, char why[CHOOSE_WHY])
{
	struct choose_pattern p = {.text = text};
	char *at = strrchr(text, '@');
	bool name = false, ok;

	snprintf(why, CHOOSE_WHY, "there is no memory");
	ok = vec_reserve(&list->items, &list->room, list->count, 1);
	p.of_module = at && at[1];
	if (at)
		*at = '\0';
	p.literal = !strpbrk(text, "\\^$.[]|()*+?{}");
	p.path = p.of_module && strchr(at + 1, '/') ? at + 1 : NULL;
	ok = ok && (name = compile(&p.name, text, text, why)) &&
	     compile(&p.module, p.of_module && !p.path ? at + 1 : "", text, why);
	if (ok) {
		list->items[list->count++] = p;
		return true;
	}
	if (name)
		regfree(&p.name);
	free(text);
	return false;
}

static bool add_patterns(struct choose_patterns *list, const char *lines, char why[CHOOSE_WHY])
{
	while (lines) {
		char *line = patterns_next(&lines);

		if (!line) {
			snprintf(why, CHOOSE_WHY, "there is no memory");
			return false;
		}
		if (!add_pattern(list, line, why))
			return false;
	}
	return true;
}

bool choose_init(struct choose *c, const char *wanted, const char *excluded, char why[CHOOSE_WHY])
{
	*c = (struct choose){0};
	return add_patterns(&c->wanted, wanted, why) && add_patterns(&c->excluded, excluded, why);
}

static void release_patterns(struct choose_patterns *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		regfree(&list->items[i].name);
		regfree(&list->items[i].module);
		free(list->items[i].text);
	}
	free(list->items);
}

void choose_release(struct choose *c)
{
	release_patterns(&c->wanted);
	release_patterns(&c->excluded);
	*c = (struct choose){0};
}

/* ---- files ---- */

static bool is_same_file(const char *a, const char *b)
{
	char *x = realpath(a, NULL), *y = realpath(b, NULL);
	bool same = x && y && strcmp(x, y) == 0;

	free(x);
	free(y);
	return same;
}

static bool is_about(const struct choose_pattern *p, const char *path, bool program)
{
	if (!p->of_module)
		return program;
	if (p->path)
		return is_same_file(p->path, path);
	return regexec(&p->module, base_name(path), 0, NULL, 0) == 0;
}

bool choose_module(const struct choose *c, const char *path, bool program)
{
	for (uint32_t i = 0; i < c->wanted.count; i++)
		if (is_about(&c->wanted.items[i], path, program))
			return true;
	return false;
}

const char *choose_never(const char *path)
{
	static const char *const names[] = {"ld-linux",   "ld64.so",   "libc.so",  "libc-2",
					    "libpthread", "libdl.so",  "librt.so", "libgcc_s",
					    "libkymo",    "linux-vdso"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base_name(path), names[i], strlen(names[i])) == 0)
			return "what traces functions uses it itself, or it loads and unwinds them";
	if (strncmp(base_name(path), "libjvm.so", 9) == 0)
		return "it looks up return addresses on stacks";
	return "";
}

/* ---- functions ---- */

struct chosen_by {
	const struct choose *c;
	bool *wanted, *excluded; /* of the expressions: whether it is about this file */
};

static const struct choose_pattern *match(const struct choose_patterns *list, const bool *about,
					  const char *symbol, const char *written)
{
	const struct choose_pattern *found = NULL;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct choose_pattern *p = &list->items[i];
		bool same = about[i] && p->literal &&
			    (strcmp(p->text, symbol) == 0 ||
			     (written && strcmp(p->text, written) == 0));

		if (same)
			return p;
		if (about[i] && !found &&
		    (regexec(&p->name, symbol, 0, NULL, 0) == 0 ||
		     (written && regexec(&p->name, written, 0, NULL, 0) == 0)))
			found = p;
	}
	return found;
}

static bool is_small(const struct choose *c, const struct function *x)
{
	uint64_t n = x->instructions ? x->instructions : x->bytes / BYTES_OF_INSTRUCTION;

	return n < (x->flags & PLAN_LOOPS ? c->min_loop : c->min_instructions);
}

/* Where a compiler has put hooks nothing is patched: what cannot be patched does not matter. */
static void take_hooked(const struct functions *f, struct function *x)
{
	if (f->hook && x->verdict >= VERDICT_SIZELESS)
		x->verdict = VERDICT_CHOSEN;
}

/* Names a function exactly, or finds it among others. */
enum { NOT_NAMED, FOUND, NAMED, LEFT_OUT };

static uint8_t name_function(const struct chosen_by *b, const struct function *x)
{
	const struct choose_pattern *p;
	char address[32], *written;
	const char *symbol = x->name;
	uint8_t how = NOT_NAMED;

	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)x->entry);
	symbol = symbol ? symbol : address;
	written = demangle(symbol);
	p = match(&b->c->wanted, b->wanted, symbol, written);
	if (p)
		how = p->literal && (strcmp(p->text, symbol) == 0 ||
				     (written && strcmp(p->text, written) == 0))
			      ? NAMED
			      : FOUND;
	if (p && match(&b->c->excluded, b->excluded, symbol, written))
		how = LEFT_OUT;
	free(written);
	return how;
}

static void settle(const struct choose *c, const struct functions *f, struct function *x,
		   uint8_t how)
{
	take_hooked(f, x);
	if (x->verdict != VERDICT_CHOSEN)
		return;
	if (how == LEFT_OUT)
		x->verdict = VERDICT_EXCLUDED;
	else if (how == FOUND && is_small(c, x))
		x->verdict = x->flags & PLAN_LOOPS ? VERDICT_SMALL_LOOP : VERDICT_SMALL;
}

static bool choose(const struct chosen_by *b, struct functions *f, struct decoder *d)
{
	uint8_t *how = calloc(f->count + 1u, 1);
	bool ok = how != NULL;

	for (uint32_t i = 0; ok && i < f->count; i++) {
		how[i] = name_function(b, &f->items[i]);
		f->items[i].wanted = how[i] != NOT_NAMED;
	}
	ok = ok && functions_judge(f, d);
	for (uint32_t i = 0; ok && i < f->count; i++)
		if (f->items[i].wanted)
			settle(b->c, f, &f->items[i], how[i]);
	free(how);
	return ok;
}

bool choose_functions(const struct choose *c, struct functions *f, struct decoder *d,
		      const char *path, bool program, char why[IMAGE_WHY])
{
	struct chosen_by b = {.c = c};
	bool ok;

	if (!functions_find(f, path, why))
		return false;
	b.wanted = calloc(c->wanted.count + c->excluded.count + 1u, sizeof(bool));
	if (!b.wanted) {
		snprintf(why, IMAGE_WHY, "there is no memory");
		return false;
	}
	b.excluded = b.wanted + c->wanted.count;
	for (uint32_t i = 0; i < c->wanted.count; i++)
		b.wanted[i] = is_about(&c->wanted.items[i], path, program);
	for (uint32_t i = 0; i < c->excluded.count; i++)
		b.excluded[i] = is_about(&c->excluded.items[i], path, program) ||
				!c->excluded.items[i].of_module;
	ok = choose(&b, f, d);
	if (!ok)
		snprintf(why, IMAGE_WHY, "there is no memory");
	free(b.wanted);
	return ok;
}
