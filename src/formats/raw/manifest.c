/* SPDX-License-Identifier: Apache-2.0 */
/* What the manifest of a trace adds to its raw files: the command line as the user gave it. */
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

void raw_read_manifest(struct trace *t, const char *directory, struct stream_log *log)
{
	char path[4096];
	json_error_t error;
	char *text;
	size_t bytes;
	json_t *root;
	const json_t *command;

	snprintf(path, sizeof(path), "%s/manifest.json", directory);
	if (access(path, F_OK) != 0)
		return; /* recorded without launcher */
	text = file_read_regular(path, &bytes);
	if (!text) {
		stream_warn(log, "%s cannot be read: %s", path,
			    errno == EINVAL ? "no regular file" : strerror(errno));
		return;
	}
	root = json_loadb(text, bytes, 0, &error);
	free(text);
	if (!root) {
		stream_warn(log, "%s:%d: damaged manifest ignored: %s", path, error.line,
			    error.text);
		return;
	}
	command = json_object_get(root, "command");
	if (json_is_array(command))
		t->command = join(t, command);
	else if (json_is_string(command))
		t->command = trace_string(t, json_string_value(command),
					  json_string_length(command));
	json_decref(root);
}
#else
void raw_read_manifest(struct trace *t, const char *directory, struct stream_log *log)
{
	/* The processes' own command lines will do. */
}
#endif
