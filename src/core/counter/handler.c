/* SPDX-License-Identifier: Apache-2.0 */
/* Finding handlers: Kymo's own, libraries by name and by path; see handler.h. */
#include "core/counter/handler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/variables.h"

/* By what the user wrote of them; `handler.h` is NULL: it cannot be had, which was told. They live for ever. */
struct known {
	struct known *next;
	char *text;
	struct handlers_spec spec;
	struct counter_handler handler;
	bool told; /* that another one has its name */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *known;

void counter_handlers_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define NAME_MOST       48u

/* ---- libraries --------------------------------------------------------------------------------- */

/* In the folder `n` bytes long; NULL: it is not there, or there is no memory. */
static char *in_folder(const char *folder, size_t n, const char *name)
{
	struct text t = {0};

	text_addf(&t, "%.*s/libkymo-handler-%s.so", (int)n, folder, name);
	if (t.s && !t.failed && access(t.s, F_OK) == 0)
		return t.s;
	text_release(&t);
	return NULL;
}

/* Of the path of a library; 0: it has none. */
static size_t folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* KYMO_HANDLER_PATH, and where Kymo's own library lies. To be freed. */
static char *find_library(const char *name)
{
	const char *at = variable("KYMO_HANDLER_PATH");
	char *path = NULL;
	Dl_info self;

	while (at && *at && !path) {
		const size_t n = strcspn(at, ":");

		path = n ? in_folder(at, n, name) : NULL;
		at += n + (at[n] == ':');
	}
	if (!path && dladdr((void *)(uintptr_t)counter_handlers_get, &self) && self.dli_fname)
		path = in_folder(self.dli_fname, folder_of(self.dli_fname), name);
	return path;
}

/* What is wrong with a handler that a library brought, NULL: nothing. */
static const char *refused(const kymo_handler_t *h)
{
	static _Thread_local char why[96];

	if (!h)
		return "its kymo_handler() says that it cannot work here";
	if (h->size < offsetof(kymo_handler_t, wants) || h->version != KYMO_HANDLER_VERSION) {
		snprintf(why, sizeof(why),
			 "it was built for version %u of kymo/handler.h, and this Kymo has %u",
			 h->size < offsetof(kymo_handler_t, wants) ? 0 : h->version,
			 KYMO_HANDLER_VERSION);
		return why;
	}
	if (h->size < sizeof(*h))
		return "its kymo_handler_t is smaller than version 1 of kymo/handler.h has it";
	if (!h->init || !h->on_batch || !h->finish)
		return "it lacks one of init, on_batch and finish";
	if (!h->name || !*h->name || h->name[strspn(h->name, NAME_CHARACTERS)] ||
	    strlen(h->name) > NAME_MOST)
		return "its name is not one of a-z, 0-9 and '-'";
	if (!h->wants || (h->wants & ~(KYMO_HANDLER_ACCESSES | KYMO_HANDLER_BLOCKS)))
		return "it says that it looks at what there is not (its `wants`)";
	return NULL;
}

static const kymo_handler_t *from_library(const char *name, const char *path)
{
	const kymo_handler_t *h = NULL;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	kymo_handler_fn f = library ? (kymo_handler_fn)dlsym(library, "kymo_handler") : NULL;
	const bool by_path = strcmp(name, path) == 0;
	const char *why;

	if (!library) {
		cap_note(2, "instrument", "handler %s was not loaded: %s", name, dlerror());
		return NULL;
	}
	if (f)
		h = f();
	why = f ? refused(h) : "it exports no kymo_handler()";
	if (why)
		cap_note(2, "instrument", "handler %s%s%s does not take part: %s",
			 by_path ? "" : name, by_path ? "" : " of ", path, why);
	else
		cap_note(1, "instrument", "handler %s is that of %s, which is not part of Kymo",
			 h->name, path);
	return why ? NULL : h;
}

static void load(struct known *k)
{
	struct counter_handler *out = &k->handler;
	char *path = NULL;

	out->name = k->spec.name;
	out->options = (kymo_handler_options_t){.size = sizeof(out->options),
						.count = k->spec.count,
						.keys = k->spec.keys,
						.values = k->spec.values};
	out->h = k->spec.path ? NULL : handlers_find(k->spec.name);
	out->own = out->h != NULL;
	if (out->own)
		return;
	path = k->spec.path ? strdup(k->spec.name) : find_library(k->spec.name);
	cap_guard_enter();
	if (path)
		out->h = from_library(k->spec.name, path);
	else
		cap_note(
			2, "instrument",
			"handler %s was not found: it is none of Kymo's, and libkymo-handler-%s.so "
			"is neither in a folder of KYMO_HANDLER_PATH nor beside Kymo's library",
			k->spec.name, k->spec.name);
	cap_guard_leave();
	if (k->spec.path && out->h)
		out->name = out->h->name;
	free(path);
}

/* ---- lists ------------------------------------------------------------------------------------- */

static struct known *find(const char *text, size_t n)
{
	struct known *k;

	pthread_mutex_lock(&lock);
	for (k = known; k; k = k->next)
		if (strlen(k->text) == n && memcmp(k->text, text, n) == 0)
			break;
	pthread_mutex_unlock(&lock);
	return k;
}

static struct known *add(const char *text, size_t n, struct handlers_spec *spec)
{
	struct known *k = calloc(1, sizeof(*k));

	if (k)
		k->text = strndup(text, n);
	if (!k || !k->text) {
		free(k);
		return NULL;
	}
	k->spec = *spec;
	*spec = (struct handlers_spec){.name = ""};
	load(k);
	pthread_mutex_lock(&lock);
	k->next = known;
	known = k;
	pthread_mutex_unlock(&lock);
	return k;
}

/* The next one of the list; NULL: there is none any more, or no memory. */
static struct known *next_of(const char **list)
{
	const char *text = *list;
	const size_t n = strcspn(text, ",");
	struct handlers_spec spec;
	struct known *k;
	char why[160];

	if (!n)
		return NULL;
	k = find(text, n);
	if (k) {
		*list += n + (text[n] == ',');
		return k;
	}
	if (!handlers_spec_next(list, &spec, why, sizeof(why))) {
		cap_note(2, "instrument", "handlers: %s", why);
		return NULL;
	}
	k = add(text, n, &spec);
	handlers_spec_release(&spec);
	return k;
}

/* What both reported could not be told apart: the first one takes part. */
static bool has_name_of(struct known *k, const struct counter_handler *other)
{
	if (strcmp(k->handler.name, other->name) != 0)
		return false;
	if (!k->told)
		cap_note(2, "instrument",
			 "handler %s does not take part: another one is called %s, too", k->text,
			 other->name);
	k->told = true;
	return true;
}

uint32_t counter_handlers_get(const char *list, const struct counter_handler *out[HANDLERS_MOST],
			      uint32_t count)
{
	struct known *k;

	while (count < HANDLERS_MOST && (k = next_of(&list))) {
		bool twice = !k->handler.h;

		for (uint32_t i = 0; i < count; i++)
			twice |= out[i] == &k->handler || has_name_of(k, out[i]);
		if (!twice)
			out[count++] = &k->handler;
	}
	return count;
}
