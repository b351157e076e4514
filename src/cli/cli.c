/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, progress and places shared by the commands; see cli.h. */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain.h"

static bool bar_shown, errors_told;

/* Several threads may say something (kymo view): the lock of stderr is that of all that is said, and of the bar. */
static void print_message(const char *kind, const struct text *t)
{
	flockfile(stderr);
	cli_progress_clear();
	fflush(stdout);
	fprintf(stderr, "kymo: %s%s\n", kind, t->s ? t->s : "");
	funlockfile(stderr);
}

/* What is inserted into a format may be anything: a path, an argument, a name out of a trace. */
static void print_formatted(const char *kind, const char *format, va_list args)
{
	struct text t = {0};

	plain_vaddf(&t, format, args);
	print_message(kind, &t);
	text_release(&t);
}

#define SAY(kind)                                                                                  \
	do {                                                                                       \
		va_list args;                                                                      \
		va_start(args, format);                                                            \
		print_formatted(kind, format, args);                                               \
		va_end(args);                                                                      \
	} while (0)

void cli_error(const char *format, ...)
{
	SAY("error: ");
}

void cli_warn(const char *format, ...)
{
	SAY("warning: ");
}

void cli_note(const char *format, ...)
{
	SAY("");
}

void cli_message(int severity, const char *lines)
{
	struct text t = {0};

	errors_told |= severity >= 3;
	plain_add_lines(&t, lines, strlen(lines));
	print_message(severity >= 3 ? "error: " : severity == 2 ? "warning: " : "", &t);
	text_release(&t);
}

bool cli_told_errors(void)
{
	return errors_told;
}

int cli_usage(const char *command, const char *format, ...)
{
	SAY("error: ");
	fprintf(stderr, "Try \"kymo help%s%s\".\n", command ? " " : "", command ? command : "");
	return CLI_USAGE;
}

void cli_given_again(const char *option, const char *before, const char *now, const char *both)
{
	if (strcmp(before, now) != 0)
		cli_warn("%s is given more than once: \"%s\" counts, \"%s\" does not%s%s%s%s",
			 option, now, before, both ? "; for both: " : "", both ? option : "",
			 both ? " " : "", both ? both : "");
}

void cli_progress_clear(void)
{
	flockfile(stderr);
	if (bar_shown)
		fprintf(stderr, "\r\033[K");
	bar_shown = false;
	funlockfile(stderr);
}

void cli_progress(void *data, double done)
{
	static uint64_t began, last;
	uint64_t now;
	int filled;

	if (!isatty(STDERR_FILENO))
		return;
	now = clock_ns(CLOCK_MONOTONIC);
	if (began == 0 || done <= 0)
		began = now;
	if (done >= 1) {
		cli_progress_clear();
		began = 0;
		return;
	}
	if (now - began < 500000000u || now - last < 50000000u)
		return;
	last = now;
	filled = (int)(done * 30);
	flockfile(stderr);
	fprintf(stderr, "\r%s [%.*s%*s] %3d%%", (const char *)data, filled,
		"##############################", 30 - filled, "", (int)(done * 100));
	fflush(stderr);
	bar_shown = true;
	funlockfile(stderr);
}

#define LIBRARY "libkymo-inject.so"

static char libdir[PATH_MAX], libdir_error[2 * PATH_MAX + 200];

/* /proc/self/exe, and where that cannot be read the name that the kernel was given. */
const char *cli_self(void)
{
	static char path[PATH_MAX];
	const char *name = (const char *)(uintptr_t)getauxval(AT_EXECFN);
	ssize_t n;

	if (path[0])
		return path;
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (n <= 0 && (!name || !realpath(name, path)))
		path[0] = '\0';
	return path;
}

/* True: it is there. Else errno tells. */
static bool try_libdir(const char *prefix, const char *relative)
{
	char probe[PATH_MAX];

	snprintf(libdir, sizeof(libdir), "%.*s%s%s", PATH_MAX - 64, prefix, *relative ? "/" : "",
		 relative);
	snprintf(probe, sizeof(probe), "%.*s/" LIBRARY, PATH_MAX - 32, libdir);
	if (access(probe, R_OK) == 0)
		return true;
	if (errno != ENOENT && errno != ENOTDIR && !libdir_error[0])
		snprintf(libdir_error, sizeof(libdir_error), "%s may not be read: %s", probe,
			 strerror(errno));
	libdir[0] = '\0';
	return false;
}

/* Beside the program (build tree and any prefix) first, then where it was to be installed. */
const char *cli_libdir(void)
{
	static const char *const relative[] = {"lib", "lib/" KYMO_MULTIARCH, "lib64", NULL};
	static char prefix[PATH_MAX];
	char *slash;

	if (libdir[0])
		return libdir;
	libdir_error[0] = '\0';
	snprintf(prefix, sizeof(prefix), "%s", cli_self());
	for (int i = 0; i < 2 && (slash = strrchr(prefix, '/')); i++)
		*slash = '\0';
	for (int i = 0; *cli_self() && relative[i]; i++)
		if (try_libdir(prefix, relative[i]))
			return libdir;
	try_libdir(KYMO_LIBDIR, "");
	return libdir;
}

const char *cli_libdir_error(void)
{
	const char *self = cli_self();

	if (!libdir_error[0] && !*self)
		snprintf(libdir_error, sizeof(libdir_error),
			 "this program cannot find its own path, since /proc/self/exe cannot be "
			 "read, and " LIBRARY " is not in %s; is /proc mounted?",
			 KYMO_LIBDIR);
	else if (!libdir_error[0])
		snprintf(libdir_error, sizeof(libdir_error),
			 LIBRARY
			 " is neither beside %.*s nor in %s: the installation is incomplete",
			 PATH_MAX, self, KYMO_LIBDIR);
	return libdir_error;
}
