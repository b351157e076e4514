/* SPDX-License-Identifier: Apache-2.0 */
/* Where the drain of a recorded process is spoken to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/run.h"

/* The socket that a traced process was given, in its environment. */
static bool socket_of(int pid, char *out, size_t size)
{
	static const char name[] = "KYMO_DRAIN=";
	char path[64];
	size_t bytes = 0;
	char *text, *at;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	text = file_read(path, &bytes);
	for (at = text; at && at < text + bytes; at += strlen(at) + 1)
		if (strncmp(at, name, strlen(name)) == 0)
			break;
	if (!at || at >= text + bytes) {
		free(text);
		return false;
	}
	snprintf(out, size, "%s", at + strlen(name));
	free(text);
	return *out != '\0';
}

/* `kymo run` itself has no such environment, its program has. */
static bool socket_of_child(int pid, char *out, size_t size)
{
	char path[64], *text, *at, *end;
	bool found = false;
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	text = file_read(path, &bytes);
	for (at = text; at && !found; at = end) {
		long child = strtol(at, &end, 10);

		if (end == at)
			break;
		found = socket_of((int)child, out, size);
	}
	free(text);
	return found;
}

bool run_socket_of(int pid, char *out, size_t size)
{
	return socket_of(pid, out, size) || socket_of_child(pid, out, size);
}
