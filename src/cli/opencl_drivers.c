/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL drivers (ICDs) that the loader would find, and whether they load. Loading runs code of
 * vendors that may take long or crash, so it is tried in a process of its own.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/run.h"

#define DEFAULT_FOLDER "/etc/OpenCL/vendors"

enum { LOAD_SECONDS = 20 };

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_icd(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".icd") == 0;
}

const char *opencl_driver_place(void)
{
	const char *place = getenv("OCL_ICD_VENDORS");

	if (!place || !*place)
		place = getenv("OPENCL_VENDOR_PATH");
	return place && *place ? place : DEFAULT_FOLDER;
}

/* The library that the file names in its first line. */
static void add_file(const char *folder, const char *file, opencl_driver_visit *visit, void *data)
{
	char path[PATH_MAX], *text;

	snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", file);
	text = file_read(path, NULL);
	if (text)
		text[strcspn(text, "\r\n")] = '\0';
	visit(data, file, text ? text : "");
	free(text);
}

static void add_list(const char *list, opencl_driver_visit *visit, void *data)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		char library[PATH_MAX];

		snprintf(library, sizeof(library), "%.*s", (int)n, list);
		if (n)
			visit(data, library, library);
		list += n + (list[n] != '\0');
	}
}

void opencl_drivers(opencl_driver_visit *visit, void *data)
{
	const char *place = opencl_driver_place();
	struct dirent *e;
	DIR *d;

	add_list(getenv("OCL_ICD_FILENAMES"), visit, data);
	if (!is_folder(place)) {
		if (is_icd(place))
			add_file(strchr(place, '/') ? "" : DEFAULT_FOLDER, place, visit, data);
		else if (*place != '/' || access(place, F_OK) == 0)
			visit(data, place, place);
		return;
	}
	d = opendir(place);
	while (d && (e = readdir(d)))
		if (is_icd(e->d_name))
			add_file(place, e->d_name, visit, data);
	if (d)
		closedir(d);
}

static void count_driver(void *data, const char *name, const char *library)
{
	++*(unsigned *)data;
}

unsigned opencl_drivers_count(void)
{
	unsigned n = 0;

	opencl_drivers(count_driver, &n);
	return n;
}

bool library_loads(const char *library, struct text *why)
{
	char message[512];
	int ends[2], status = 0;
	ssize_t n = 0, got;
	pid_t pid;

	if (pipe(ends) != 0)
		return true; /* not known to be broken */
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(LOAD_SECONDS);
		if (dlopen(library, RTLD_NOW | RTLD_LOCAL))
			_exit(0);
		snprintf(message, sizeof(message), "%s", dlerror());
		_exit(write(ends[1], message, strlen(message)) < 0 ? 2 : 1);
	}
	close(ends[1]);
	while (pid > 0 && (got = read(ends[0], message + n, sizeof(message) - 1 - (size_t)n)) > 0)
		n += got;
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status == 0)
		return true;
	message[n] = '\0';
	if (WIFSIGNALED(status))
		text_addf(why, "loading it ended with signal %d (%s)", WTERMSIG(status),
			  strsignal(WTERMSIG(status)));
	else
		text_add(why, n ? message : "it cannot be loaded");
	return false;
}
