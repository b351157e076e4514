/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One manifest of a job. While a job is recorded each drain has a manifest of its own, so that none
 * waits for another and all that any of them knows survives the others. Whichever ends last, puts them
 * all into manifest.json, as they are. A node that is lost leaves one that says "recording": then they
 * stay as they are, which readers take, too.
 */
#include "drain/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define LOCK  ".manifest.lock"
#define NODES "  \"nodes\": ["

enum {
	LOCK_TRIES = 300,
	LOCK_STEP_MS = 10,
	LOCK_SECONDS = 60 /* whoever had it is dead */
};

static void path_in(char out[PATH_MAX], const char *trace, const char *name)
{
	snprintf(out, PATH_MAX, "%.*s/%s", PATH_MAX - 300, trace, name);
}

static bool is_other(const char *name)
{
	size_t n = strlen(name);

	return strncmp(name, "manifest-", 9) == 0 && n > 5 && strcmp(name + n - 5, ".json") == 0;
}

/* ---- one at a time ---------------------------------------------------------------------------- */

static bool is_stale(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 &&
	       (uint64_t)st.st_mtime + LOCK_SECONDS < clock_ns(CLOCK_REALTIME) / 1000000000u;
}

/* By a file that only one can make, which holds on file systems of several nodes, too. */
static bool take_lock(const char *path)
{
	const struct timespec step = {0, LOCK_STEP_MS * 1000000};

	for (int i = 0; i < LOCK_TRIES; i++) {
		int fd = file_create_own(path, O_WRONLY);

		if (fd >= 0) {
			close(fd);
			return true;
		}
		if (errno != EEXIST)
			return false;
		if (is_stale(path))
			unlink(path);
		nanosleep(&step, NULL);
	}
	return false;
}

/* ---- what is put together ---------------------------------------------------------------------- */

/* The text of a manifest that is complete; NULL: it is not, or none. The caller frees it. */
static char *read_complete(const char *trace, const char *name, size_t *bytes)
{
	char path[PATH_MAX], *text;

	path_in(path, trace, name);
	text = file_read_regular(path, bytes);
	while (text && *bytes && (text[*bytes - 1] == '\n'))
		text[--*bytes] = '\0';
	if (text && *bytes > 2 && strlen(text) == *bytes && text[0] == '{' &&
	    text[*bytes - 1] == '}' && strstr(text, "\n  \"state\": \"complete\""))
		return text;
	free(text);
	return NULL;
}

/* The texts of all, and their names, each with its end. False: one of them is not complete. */
static bool gather(const char *trace, struct text *all, struct text *names)
{
	DIR *d = opendir(trace);
	struct dirent *e;
	bool ok = d != NULL;

	while (ok && (e = readdir(d))) {
		size_t bytes;
		char *text;

		if (!is_other(e->d_name))
			continue;
		text = read_complete(trace, e->d_name, &bytes);
		ok = text != NULL;
		if (ok) {
			text_addf(all, "%s\n%s", all->length ? "," : "", text);
			text_add_bytes(names, e->d_name, strlen(e->d_name) + 1);
		}
		free(text);
	}
	if (d)
		closedir(d);
	return ok && all->length && !all->failed && !names->failed;
}

/* Behind what was put there before, which is last in the file. */
static bool append(const char *trace, const struct text *nodes)
{
	char path[PATH_MAX];
	struct text t = {0};
	size_t bytes;
	char *first = read_complete(trace, "manifest.json", &bytes), *before;
	bool ok = first != NULL;

	if (!ok)
		return false;
	before = strstr(first, "\n" NODES);
	first[bytes - (before ? 4 : 2)] = '\0'; /* "\n]\n}" is written anew, or "\n}" */
	text_addf(&t, before ? "%s,%s\n]\n}\n" : "%s,\n" NODES "%s\n]\n}\n", first, nodes->s);
	path_in(path, trace, "manifest.json");
	ok = !t.failed && file_replace(path, t.s, t.length);
	text_release(&t);
	free(first);
	return ok;
}

bool manifest_is_merged(const struct manifest *m)
{
	char *text = file_read_regular(m->path, NULL);
	bool merged = text && strstr(text, "\n" NODES);

	free(text);
	return merged;
}

/* Not those that have come since: nobody has them yet. */
static void remove_gathered(const char *trace, const struct text *names)
{
	char path[PATH_MAX];

	for (size_t at = 0; at < names->length; at += strlen(names->s + at) + 1) {
		path_in(path, trace, names->s + at);
		unlink(path);
	}
}

static bool has_others(const char *trace)
{
	DIR *d = opendir(trace);
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d)))
		found = is_other(e->d_name);
	if (d)
		closedir(d);
	return found;
}

void manifest_merge(const char *trace)
{
	struct text nodes = {0}, names = {0};
	char lock[PATH_MAX];

	path_in(lock, trace, LOCK);
	if (!has_others(trace) || !take_lock(lock))
		return;
	/* Who ends later than this looks finds this one's complete. */
	if (gather(trace, &nodes, &names) && append(trace, &nodes))
		remove_gathered(trace, &names);
	text_release(&nodes);
	text_release(&names);
	unlink(lock);
}
