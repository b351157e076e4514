/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the manifests of a trace add to its raw files: the command line as the user gave it, and how
 * processes ended whose files have no end because the file system refused it.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef KYMO_HAVE_JANSSON
#include <jansson.h>
#endif

#include "base/file.h"
#include "formats/raw/internal.h"
#include "wire/raw.h"

#ifdef KYMO_HAVE_JANSSON
static const char *join(struct trace *t, const json_t *words)
{
	size_t length = 0, i;
	json_t *word;
	char *out;

	json_array_foreach (words, i, word)
		length += (json_is_string(word) ? json_string_length(word) : 0) + 1;
	out = trace_alloc(t, length + 1);
	if (!out)
		return "";
	json_array_foreach (words, i, word) {
		if (i)
			strcat(out, " ");
		if (json_is_string(word))
			strcat(out, json_string_value(word));
	}
	return out;
}

static uint64_t number(const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);

	return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v) : 0;
}

static uint32_t ended_as(const char *word)
{
	static const char *const words[] = MANIFEST_ENDS;

	for (uint32_t i = 0; word && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return UINT32_MAX;
}

static struct raw_process *process_of(struct raw_trace *rt, const char *file)
{
	for (uint32_t i = 0; file && i < rt->count; i++) {
		const char *path = rt->trace->processes[rt->processes[i].process].file;
		const char *slash = strrchr(path, '/');

		if (strcmp(slash ? slash + 1 : path, file) == 0)
			return &rt->processes[i];
	}
	return NULL;
}

static void at_least(uint64_t *value, uint64_t other)
{
	if (*value < other)
		*value = other;
}

/* The end of the file could not be written, but the drain told the manifest what it would have said. */
static void read_ends(struct raw_trace *rt, const json_t *processes)
{
	const json_t *one;
	size_t i;

	json_array_foreach (processes, i, one) {
		struct raw_process *raw =
			process_of(rt, json_string_value(json_object_get(one, "file")));
		struct t_process *p = raw ? &rt->trace->processes[raw->process] : NULL;

		if (!p || p->how_ended != UINT32_MAX)
			continue;
		p->how_ended = ended_as(json_string_value(json_object_get(one, "ended")));
		p->exit_status = (int32_t)json_integer_value(json_object_get(one, "status"));
		at_least(&p->lost_records, number(one, "lost_records"));
		at_least(&p->lost_definitions, number(one, "lost_definitions"));
		at_least(&p->overwritten_records, number(one, "overwritten_records"));
		at_least(&p->unwritten_records, number(one, "unwritten_records"));
		p->end = p->seen;
		raw_check_counts(raw);
	}
}

static void read_one(struct raw_trace *rt, const char *path, bool first)
{
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
		t->command = trace_string(t, json_string_value(command),
					  json_string_length(command));
	read_ends(rt, json_object_get(root, "processes"));
	json_decref(root);
}

static bool endless(const struct raw_trace *rt)
{
	for (uint32_t i = 0; i < rt->count; i++)
		if (rt->trace->processes[rt->processes[i].process].how_ended == UINT32_MAX)
			return true;
	return false;
}

/* Those of the other launchers of a job: manifest-HOST-PID.json. */
static void read_others(struct raw_trace *rt, const char *directory)
{
	char path[4096];
	struct dirent *e;
	DIR *d = opendir(directory);

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (strncmp(e->d_name, "manifest-", 9) == 0 && n > 5 &&
		    strcmp(e->d_name + n - 5, ".json") == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", directory, e->d_name) < (int)sizeof(path))
			read_one(rt, path, false);
	}
	if (d)
		closedir(d);
}

void raw_read_manifest(struct raw_trace *rt, const char *directory)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/manifest.json", directory);
	if (access(path, F_OK) == 0) /* else it was recorded without launcher */
		read_one(rt, path, true);
	if (endless(rt))
		read_others(rt, directory);
}
#else
void raw_read_manifest(struct raw_trace *rt, const char *directory)
{
	/* The processes' own command lines will do. */
}
#endif
