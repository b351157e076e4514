/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list presets`, and where presets are found. */
#include "cli/presets.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/plain.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/list_output.h"

enum { FOLDERS = 4, NAMES = 64 };

/* The user's, the machine's, beside the program (build tree and any prefix), where it was to be installed. */
static bool folder(unsigned i, char out[PATH_MAX])
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	const char *self = cli_self();
	char *slash;

	if (i == 0 && config && *config)
		return snprintf(out, PATH_MAX, "%s/kymo/presets", config) < PATH_MAX;
	if (i == 0)
		return home && snprintf(out, PATH_MAX, "%s/.config/kymo/presets", home) < PATH_MAX;
	if (i == 1)
		return snprintf(out, PATH_MAX, "/etc/kymo/presets") > 0;
	if (i == 3)
		return snprintf(out, PATH_MAX, KYMO_DATADIR "/kymo/presets") > 0;
	snprintf(out, PATH_MAX, "%.*s", PATH_MAX - 32, self);
	for (int up = 0; up < 2 && (slash = strrchr(out, '/')); up++)
		*slash = '\0';
	strcat(out, "/share/kymo/presets");
	return *self;
}

/* A pipe would be waited for. */
static bool is_readable(const char *path)
{
	struct stat s;

	return access(path, R_OK) == 0 && stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

static bool find(const char *name, char path[PATH_MAX])
{
	char at[PATH_MAX];

	for (unsigned i = 0; i < FOLDERS; i++)
		if (folder(i, at) &&
		    snprintf(path, PATH_MAX, "%.*s/%s.conf", PATH_MAX - 300, at, name) < PATH_MAX &&
		    is_readable(path))
			return true;
	return false;
}

struct names {
	char *at[NAMES];
	unsigned count;
};

static int by_name(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static void add_folder(struct names *n, const char *path)
{
	struct dirent *e;
	DIR *d = opendir(path);

	while (d && n->count < NAMES && (e = readdir(d))) {
		size_t length = strlen(e->d_name);

		if (length > 5 && strcmp(e->d_name + length - 5, ".conf") == 0)
			n->at[n->count++] = strndup(e->d_name, length - 5);
	}
	if (d)
		closedir(d);
}

/* Each name once. */
static void collect(struct names *n)
{
	char path[PATH_MAX];
	unsigned kept = 0;

	for (unsigned i = 0; i < FOLDERS; i++)
		if (folder(i, path))
			add_folder(n, path);
	qsort(n->at, n->count, sizeof(n->at[0]), by_name);
	for (unsigned i = 0; i < n->count; i++) {
		if (kept && strcmp(n->at[i], n->at[kept - 1]) == 0)
			free(n->at[i]);
		else
			n->at[kept++] = n->at[i];
	}
	n->count = kept;
}

static void release(struct names *n)
{
	while (n->count)
		free(n->at[--n->count]);
}

bool preset_find(const char *name, char path[PATH_MAX], char error[KNOB_ERROR_MAX])
{
	struct names n = {.count = 0};
	struct text all = {0};
	const char *guess = NULL;
	unsigned best = UINT_MAX;

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	if (*name && find(name, path))
		return true;
	collect(&n);
	for (unsigned i = 0; i < n.count; i++) {
		text_addf(&all, "%s%s", i ? ", " : "", n.at[i]);
		if (text_nearer(name, n.at[i], &best))
			guess = n.at[i];
	}
	snprintf(error, KNOB_ERROR_MAX, "there is no preset \"%.60s\"%s%.40s%s: there are %.200s",
		 name, guess ? " (did you mean \"" : "", guess ? guess : "", guess ? "\"?)" : "",
		 all.s ? all.s : "none");
	text_release(&all);
	release(&n);
	return false;
}

/* The first line, without its mark. */
static void add_purpose(struct list_output *o, const char *name)
{
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	FILE *f = find(name, path) ? fopen(path, "re") : NULL;

	if (f && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		LIST_ROW(o, name, line + strspn(line, "# "));
	}
	free(line);
	if (f)
		fclose(f);
}

/* Each option that a file sets, and the comment before it that says why. */
static int add_settings(struct list_output *o, FILE *f)
{
	struct text why = {0};
	char *line = NULL;
	size_t room = 0;

	list_begin(o, "preset", "Options", (const char *const[]){"option", "value", "why", NULL},
		   (const unsigned[]){18, 24});
	while (getline(&line, &room, f) > 0) {
		char *at = line + strspn(line, " \t"), *equals = strchr(at, '=');

		line[strcspn(line, "\n")] = '\0';
		if (*at == '#') {
			text_addf(&why, "%s%s", why.length ? " " : "", at + strspn(at, "# "));
			continue;
		}
		if (*at && equals) {
			char *end = equals;

			while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
				end--;
			*end = '\0';
			equals++;
			LIST_ROW(o, at, equals + strspn(equals, " \t"), why.length ? why.s : NULL);
		}
		why.length = 0;
	}
	text_release(&why);
	free(line);
	return list_end(o);
}

/* As it is written. */
static int print_lines(const char *path, FILE *f)
{
	char *line = NULL;
	size_t room = 0;

	plain_printf(stdout, "# %s\n", path);
	while (getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		plain_printf(stdout, "%s\n", line);
	}
	free(line);
	return CLI_OK;
}

/* The file says of each option why it is there. */
static int print_file(const char *name)
{
	char path[PATH_MAX], error[KNOB_ERROR_MAX];
	struct list_output o;
	int result;
	FILE *f;

	if (!preset_find(name, path, error)) {
		cli_error("%s", error);
		return CLI_USAGE;
	}
	f = fopen(path, "re");
	if (!f) {
		cli_error("\"%s\" cannot be read", path);
		return CLI_FAILURE;
	}
	result = list_format() == REPORT_TEXT ? print_lines(path, f) : add_settings(&o, f);
	fclose(f);
	return result;
}

static int run(int argc, char **argv)
{
	struct names n = {.count = 0};
	struct list_output o;

	if (argc > 1)
		return cli_usage("list", "list presets takes one preset, not \"%s\" too", argv[1]);
	if (argc)
		return print_file(argv[0]);
	list_begin(&o, "presets", "Presets", (const char *const[]){"name", "purpose", NULL},
		   (const unsigned[]){12});
	collect(&n);
	for (unsigned i = 0; i < n.count; i++)
		add_purpose(&o, n.at[i]);
	release(&n);
	return list_end(&o);
}

extern const struct list list_presets;
const struct list list_presets = {
	"presets", "Presets of options (run --preset): what for; of one, each option and why", run,
	"[PRESET]"};
