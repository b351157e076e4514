/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the manifests of a trace add to its raw files: the command line as the user gave it, how
 * processes ended whose files have no end because the file system refused it, and which files are
 * not there any more.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef KYMO_HAVE_JANSSON
#include <jansson.h>
#endif

#include "base/file.h"
#include "base/vec.h"
#include "formats/raw/internal.h"
#include "wire/raw.h"

#ifdef KYMO_HAVE_JANSSON
static const char *join(struct trace *t, const json_t *words)
{
	size_t length = 0, i;
	json_t *word;
	char *out;

	json_array_foreach(words, i, word) length +=
		(json_is_string(word) ? json_string_length(word) : 0) + 1;
	out = trace_alloc(t, length + 1);
	if (!out)
		return "";
	json_array_foreach(words, i, word)
	{
		if (i)
			strcat(out, " ");
		if (json_is_string(word))
			strcat(out, json_string_value(word));
	}
	return out;
}

static uint64_t number_of(const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);

	return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v)
							       : 0;
}

static uint32_t ended_as(const char *word)
{
	static const char *const words[] = MANIFEST_ENDS;

	for (uint32_t i = 0; word && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return UINT32_MAX;
}

/* ---- processes by the names of their files --------------------------------------------------- */

struct listed {
	const char *name;
	uint32_t process;
	struct raw_process *raw; /* NULL: its file could not be read */
};

struct listing {
	struct raw_trace *rt;
	const char *directory;
	struct listed *list;
	uint32_t count, room;
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int by_name(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static bool list_processes(struct listing *l)
{
	const struct trace *t = l->rt->trace;
	uint32_t raw = 0;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		bool read = raw < l->rt->count && l->rt->processes[raw].process == i;

		if (!vec_reserve(&l->list, &l->room, l->count, 1))
			return false;
		l->list[l->count++] = (struct listed){name_of(t->processes[i].file), i,
						      read ? &l->rt->processes[raw] : NULL};
		raw += read;
	}
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), by_name);
	return true;
}

/* The place of the first that does not come before it. */
static uint32_t place_of(const struct listing *l, const char *name)
{
	uint32_t from = 0, to = l->count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (strcmp(l->list[middle].name, name) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static const char *text_of(struct trace *t, const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);

	return json_is_string(v) ? trace_string(t, json_string_value(v), json_string_length(v))
				 : "";
}

/* What the manifest lists was there once: it is a process of the trace, with nothing but its end. */
static struct listed *add_missing(struct listing *l, uint32_t at, const char *name,
				  const json_t *root, const json_t *one)
{
	const json_t *job = json_object_get(root, "job"), *rank = json_object_get(one, "rank");
	const char *host = json_string_value(json_object_get(root, "hostname"));
	char path[8192];
	struct t_process *p;

	if (!vec_reserve(&l->list, &l->room, l->count, 1))
		return NULL;
	snprintf(path, sizeof(path), "%s/raw/%s", l->directory, name);
	stream_error(l->rt->log,
		     "%s: the manifest lists this file and it is not there: what the process "
		     "recorded is lost",
		     path);
	p = raw_add_unread(l->rt, path, FILE_MISSING);
	if (host)
		p->hostname = trace_string(l->rt->trace, host, strlen(host));
	if (!rank) /* of the one launcher that it was written by */
		rank = json_object_get(job, "rank");
	if (json_is_integer(rank))
		p->rank = (uint32_t)json_integer_value(rank);
	if (p->rank != UINT32_MAX) {
		p->job = text_of(l->rt->trace, job, "id");
		p->ranks = (uint32_t)json_integer_value(json_object_get(job, "ranks"));
	}
	memmove(l->list + at + 1, l->list + at, (l->count++ - at) * sizeof(*l->list));
	l->list[at] = (struct listed){name_of(p->file), l->rt->trace->processes_count - 1, NULL};
	return &l->list[at];
}

static struct listed *find_listed(struct listing *l, const json_t *root, const json_t *one)
{
	const char *name = json_string_value(json_object_get(one, "file"));
	uint32_t at;

	if (!name || !*name || strchr(name, '/'))
		return NULL;
	at = place_of(l, name);
	if (at < l->count && strcmp(l->list[at].name, name) == 0)
		return &l->list[at];
	return add_missing(l, at, name, root, one);
}

/* ---- how they ended -------------------------------------------------------------------------- */

static void at_least(uint64_t *value, uint64_t other)
{
	if (*value < other)
		*value = other;
}

/* No file bears it out: what can be is taken. */
static void take_alone(struct t_process *p, const json_t *one)
{
	uint64_t *counts[] = {&p->lost_records,      &p->lost_definitions,  &p->overwritten_records,
			      &p->unwritten_records, &p->no_memory_records, &p->dropped_records};

	p->pid = (uint32_t)number_of(one, "pid");
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		*counts[i] = *counts[i] <= COUNT_MAX ? *counts[i] : 0;
}

/* The end of the file could not be written, but the drain told the manifest what it would have said. */
static void read_end(struct raw_trace *rt, const struct listed *of, const json_t *one)
{
	struct t_process *p = &rt->trace->processes[of->process];

	if (of->raw && number_of(one, "bytes") > of->raw->file.plain_size) {
		stream_warn(rt->log,
			    "%s: it had %" PRIu64 " bytes when it was recorded and has %" PRIu64
			    ": the rest is lost",
			    p->file, number_of(one, "bytes"), of->raw->file.plain_size);
		p->how_ended = UINT32_MAX;
		return;
	}
	if (p->how_ended != UINT32_MAX && !(of->raw && of->raw->no_end))
		return;
	p->how_ended = ended_as(json_string_value(json_object_get(one, "ended")));
	p->exit_status = (int32_t)json_integer_value(json_object_get(one, "status"));
	at_least(&p->lost_records, number_of(one, "lost_records"));
	at_least(&p->lost_definitions, number_of(one, "lost_definitions"));
	at_least(&p->overwritten_records, number_of(one, "overwritten_records"));
	at_least(&p->unwritten_records, number_of(one, "unwritten_records"));
	at_least(&p->no_memory_records, number_of(one, "no_memory_records"));
	at_least(&p->dropped_records, number_of(one, "dropped_records"));
	p->end = p->seen;
	if (of->raw)
		raw_check_counts(of->raw);
	else
		take_alone(p, one);
}

static void read_ends(struct listing *l, const json_t *root)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(root, "processes"), i, one)
	{
		const struct listed *of = find_listed(l, root, one);

		if (of)
			read_end(l->rt, of, one);
	}
}

/* Written anew by each drain that goes on in the place of another; older ones had a total only. */
static void read_restarts(struct raw_trace *rt, const json_t *root)
{
	const json_t *drain = json_object_get(root, "drain");
	uint64_t times = number_of(drain, "restarts");

	if (!times)
		times = number_of(json_object_get(root, "totals"), "drain_restarts");
	raw_add_restarts(rt, text_of(rt->trace, root, "hostname"), times,
			 (int32_t)number_of(drain, "signal"), (int32_t)number_of(drain, "status"));
}

/* Of the first launcher: what is known even where nothing was recorded. */
static void read_launcher(struct trace *t, const json_t *root)
{
	const char *started = json_string_value(json_object_get(root, "started"));
	const json_t *imported = json_object_get(root, "imported");
	struct tm tm = {0};

	t->formulas = text_of(t, root, "formulas");
	t->hostname = text_of(t, root, "hostname");
	t->version = text_of(t, root, "kymo");
	if (json_is_object(imported)) {
		t->imported = text_of(t, imported, "file");
		t->imported_format = text_of(t, imported, "format");
		if (json_is_true(json_object_get(imported, "passing")))
			t->path = t->imported;
	}
	if (started && strptime(started, "%Y-%m-%dT%H:%M:%S", &tm))
		t->started = (int64_t)timegm(&tm);
}

/* A drain's: of several nodes all but the first one's are in that one, once all are complete. */
static void read_drain(struct listing *l, const json_t *root)
{
	const json_t *node;
	size_t i;

	read_restarts(l->rt, root);
	read_ends(l, root);
	json_array_foreach(json_object_get(root, "nodes"), i, node)
	{
		read_restarts(l->rt, node);
		read_ends(l, node);
	}
}

static void read_one(struct listing *l, const char *path, bool first)
{
	struct raw_trace *rt = l->rt;
	struct trace *t = rt->trace;
	const json_t *command;
	json_error_t error;
	size_t bytes;
	char *text = file_read_regular(path, &bytes);
	json_t *root;

	if (!text) {
		stream_warn(rt->log, "%s cannot be read: %s", path,
			    errno == EINVAL ? "no regular file" : strerror(errno));
		return;
	}
	root = json_loadb(text, bytes, 0, &error);
	free(text);
	if (!root) {
		stream_warn(rt->log, "%s:%d: damaged manifest ignored: %s", path, error.line,
			    error.text);
		return;
	}
	command = json_object_get(root, "command");
	if (first && json_is_array(command))
		t->command = join(t, command);
	else if (first && json_is_string(command))
		t->command =
			trace_string(t, json_string_value(command), json_string_length(command));
	if (first)
		read_launcher(t, root);
	if (first && strcmp(text_of(t, root, "state"), "complete") == 0)
		rt->listed = true;
	read_drain(l, root);
	json_decref(root);
}

/* Those of other drains of a job that is recorded, or lost a node: manifest-HOST-PID-TOKEN.json. */
static void read_others(struct listing *l)
{
	char path[4096];
	struct dirent *e;
	DIR *d = opendir(l->directory);

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (strncmp(e->d_name, "manifest-", 9) == 0 && n > 5 &&
		    strcmp(e->d_name + n - 5, ".json") == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", l->directory, e->d_name) <
			    (int)sizeof(path))
			read_one(l, path, false);
	}
	if (d)
		closedir(d);
}

void raw_read_manifest(struct raw_trace *rt, const char *directory)
{
	struct listing l = {.rt = rt, .directory = directory};
	char path[4096];

	snprintf(path, sizeof(path), "%s/manifest.json", directory);
	if (list_processes(&l)) {
		if (access(path, F_OK) == 0) /* else it was recorded without launcher */
			read_one(&l, path, true);
		read_others(&l);
	}
	free(l.list);
}
#else
void raw_read_manifest(struct raw_trace *rt, const char *directory)
{
	/* The processes' own command lines will do. */
}
#endif
