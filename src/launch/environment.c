/* SPDX-License-Identifier: Apache-2.0 */
/* What launch parts of backends do to the environment of a program; see launch.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/launch.h"

bool launch_set(struct launch_environment *e, const char *name, const char *value)
{
	size_t n = strlen(name), size = n + strlen(value) + 2;
	char *word = malloc(size);
	unsigned i = 0;

	if (!word)
		return false;
	snprintf(word, size, "%s=%s", name, value);
	while (i < e->count && !(strncmp(e->words[i], name, n) == 0 && e->words[i][n] == '='))
		i++;
	if (i == e->count)
		e->count++;
	e->words[i] = word;
	e->words[e->count] = NULL;
	e->set[e->set_count++] = word;
	e->set[e->set_count] = NULL;
	return true;
}

bool launch_set_default(struct launch_environment *e, const char *name, const char *value)
{
	const char *present = getenv(name);

	return (present && *present) || launch_set(e, name, value);
}

void launch_unset(struct launch_environment *e, const char *name)
{
	size_t n = strlen(name);

	for (unsigned i = 0; i < e->count; i++) {
		if (strncmp(e->words[i], name, n) != 0 || e->words[i][n] != '=')
			continue;
		memmove(e->words + i, e->words + i + 1, (e->count - i) * sizeof(*e->words));
		e->count--;
		return;
	}
}

void launch_path(const char *libdir, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX - 80, libdir, name);
}

bool launch_preload(struct launch_environment *e, enum launch_place place, const char *name)
{
	struct text *list = &e->doors[place];
	char path[PATH_MAX];

	launch_path(e->libdir, name, path);
	if (access(path, R_OK) != 0)
		return false;
	text_addf(list, ":%s", path);
	return true;
}

void launch_preload_before(struct launch_environment *e, const char *name,
			   const char *const *libraries)
{
	char path[PATH_MAX];

	launch_path(e->libdir, name, path);
	if (access(path, R_OK) != 0)
		return;
	text_add(&e->before, path);
	e->before_what = libraries;
}

/* ---- lists ---- */

static bool has_part(const char *word, const char *const *parts)
{
	for (; parts && *parts; parts++)
		if (strstr(word, *parts))
			return true;
	return false;
}

/* Entries that a Kymo around this one has left. */
static bool is_own(const char *word)
{
	static const char *const own[] = {"/libkymo-inject.so", "/libkymo.so", NULL};
	bool is = has_part(word, own);

	for (const struct kymo_launch *const *l = launch_table; *l && !is; l++)
		is = has_part(word, (*l)->own);
	return is;
}

/* Its file name begins with one of these. */
static bool begins_with_any(const char *word, const char *const *names)
{
	const char *name = strrchr(word, '/');

	name = name ? name + 1 : word;
	for (; names && *names; names++)
		if (strncmp(name, *names, strlen(*names)) == 0)
			return true;
	return false;
}

/* The user's entries, and the door among them. */
static void add_list(struct text *t, const char *list, const char *separators, const char *door,
		     const char *const *libraries)
{
	while (list && *list) {
		size_t n = strcspn(list, separators);
		char word[PATH_MAX];

		snprintf(word, sizeof(word), "%.*s", (int)n, list);
		if (*door && begins_with_any(word, libraries)) {
			text_addf(t, ":%s", door);
			door = "";
		}
		if (n && !is_own(word))
			text_addf(t, "%s%s", t->length ? ":" : "", word);
		list += n + (list[n] != '\0');
	}
	if (*door)
		text_addf(t, ":%s", door);
}

static bool set_list(struct launch_environment *e, const char *name, const char *first,
		     const char *separators, const char *door, const char *const *libraries)
{
	struct text t = {0};
	bool ok;

	text_add(&t, first);
	add_list(&t, getenv(name), separators, door, libraries);
	ok = !t.failed && launch_set(e, name, t.s);
	text_release(&t);
	return ok;
}

bool launch_set_list(struct launch_environment *e, const char *name, const char *first,
		     const char *separators)
{
	return set_list(e, name, first, separators, "", NULL);
}

static bool set_preload(struct launch_environment *e)
{
	struct text list = {0};
	bool ok = !e->before.failed;

	text_addf(&list, "%s/libkymo-inject.so", e->libdir);
	if (e->host)
		text_addf(&list, ":%s/libkymo.so.1", e->libdir);
	for (unsigned i = 0; i < LAUNCH_PLACES; i++) {
		if (e->doors[i].s)
			text_add(&list, e->doors[i].s);
		ok = ok && !e->doors[i].failed;
		text_release(&e->doors[i]);
	}
	ok = ok && !list.failed &&
	     set_list(e, "LD_PRELOAD", list.s, " :", e->before.s ? e->before.s : "",
		      e->before_what);
	text_release(&list);
	text_release(&e->before);
	return ok;
}

/* ---- the table ---- */

bool launch_wants(const struct launch_environment *e, const struct kymo_launch *l)
{
	for (const char *const *d = l->domains; *d; d++)
		if (knob_list_has(e->options->backends, *d))
			return true;
	return false;
}

bool launch_names(const struct launch_environment *e, const char *domain)
{
	return knob_list_names(e->options->backends, domain);
}

static bool set_tool(struct launch_environment *e, const struct launch_tool *t)
{
	const char *present = getenv(t->variable);
	bool taken = present && *present;
	char library[PATH_MAX], list[2 * PATH_MAX];

	if (taken && strstr(present, "/libkymo"))
		return true;
	if (taken && !t->separator) {
		e->warn("%s is set to %s already: that tool gets what Kymo would record",
			t->variable, present);
		return true;
	}
	launch_path(e->libdir, "libkymo.so.1", library);
	snprintf(list, sizeof(list), "%.*s%.*s%s", PATH_MAX - 2, taken ? present : "",
		 taken ? 1 : 0, &t->separator, library);
	return launch_set(e, t->variable, list);
}

bool launch_backends(struct launch_environment *e)
{
	const struct kymo_launch *const *l;
	bool ok = true;

	for (l = launch_table; *l && ok; l++)
		ok = !(*l)->doors || (*l)->doors(e, *l);
	ok = ok && set_preload(e);
	for (l = launch_table; *l && ok; l++)
		ok = !(*l)->tool.variable || !launch_wants(e, *l) || set_tool(e, &(*l)->tool);
	for (l = launch_table; *l && ok; l++)
		ok = !(*l)->environment || (*l)->environment(e, *l);
	return ok;
}
