/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the loader; see modules.h. */
#include "functions/modules.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "functions/image.h"

extern char **environ;

bool modules_add(struct modules *m, const char *path)
{
	char *own = realpath(path, NULL);

	if (!own)
		return true; /* it is not there: the loader will say so */
	for (uint32_t i = 0; i < m->count; i++) {
		if (strcmp(m->paths[i], own) == 0) {
			free(own);
			return true;
		}
	}
	if (!vec_reserve(&m->paths, &m->room, m->count, 1)) {
		free(own);
		return false;
	}
	m->paths[m->count++] = own;
	return true;
}

void modules_release(struct modules *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		free(m->paths[i]);
	free(m->paths);
	*m = (struct modules){0};
}

/* "	libm.so.6 => /lib/libm.so.6 (0x7f...)", "	/lib64/ld-linux-x86-64.so.2 (0x7f...)" */
static bool add_line(struct modules *m, char *line)
{
	char *path = strchr(line, '/'), *end = path ? strstr(path, " (0x") : NULL;

	if (!end)
		return true;
	*end = '\0';
	return modules_add(m, path);
}

static bool spawn(pid_t *child, const char *loader, const char *program, int out)
{
	char *const argv[] = {(char *)(uintptr_t)loader, "--list", (char *)(uintptr_t)program,
			      NULL};
	posix_spawn_file_actions_t actions;
	bool ok;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	ok = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) == 0 &&
	     posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ==
		     0 &&
	     posix_spawn(child, loader, &actions, NULL, argv, environ) == 0;
	posix_spawn_file_actions_destroy(&actions);
	return ok;
}

static bool ask_loader(struct modules *m, const char *loader, const char *program)
{
	char *line = NULL;
	size_t room = 0;
	bool ok = true;
	pid_t child;
	FILE *f;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return true;
	f = fdopen(pipes[0], "r");
	if (f && spawn(&child, loader, program, pipes[1])) {
		close(pipes[1]);
		while (ok && getline(&line, &room, f) >= 0)
			ok = add_line(m, line);
		waitpid(child, NULL, 0);
	} else {
		close(pipes[1]);
	}
	free(line);
	if (f)
		fclose(f);
	else
		close(pipes[0]);
	return ok;
}

bool modules_find(struct modules *m, const char *program)
{
	char why[IMAGE_WHY];
	struct image image;
	bool ok;

	*m = (struct modules){0};
	ok = modules_add(m, program);
	if (ok && image_open(&image, program, why) && image.interpreter)
		ok = ask_loader(m, image.interpreter, m->count ? m->paths[0] : program);
	if (ok)
		image_close(&image);
	return ok;
}
