/* SPDX-License-Identifier: Apache-2.0 */
/* See preprocess.h. */
#include "rewrite/preprocess.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "base/vec.h"

extern char **environ;

/*
 * Macros of the language's own header, which is not read here: their values are the device's compiler's. They are to be known
 * as macros, and to stay as they are.
 */
#define KEEP(name) "#define " #name " " #name "\n"
static const char kept_names[] = KEEP(M_E) KEEP(M_LOG2E) KEEP(M_LOG10E) KEEP(M_LN2) KEEP(M_LN10)
	KEEP(M_PI) KEEP(M_PI_2) KEEP(M_PI_4) KEEP(M_1_PI) KEEP(M_2_PI) KEEP(M_2_SQRTPI) KEEP(
		M_SQRT2) KEEP(M_SQRT1_2) KEEP(M_E_F) KEEP(M_LOG2E_F) KEEP(M_LOG10E_F) KEEP(M_LN2_F)
		KEEP(M_LN10_F) KEEP(M_PI_F) KEEP(M_PI_2_F) KEEP(M_PI_4_F) KEEP(M_1_PI_F)
			KEEP(M_2_PI_F) KEEP(M_2_SQRTPI_F) KEEP(M_SQRT2_F) KEEP(M_SQRT1_2_F)
				KEEP(MAXFLOAT) KEEP(HUGE_VALF) KEEP(HUGE_VAL) KEEP(INFINITY)
					KEEP(NAN) KEEP(FLT_MAX) KEEP(FLT_MIN) KEEP(FLT_EPSILON)
						KEEP(DBL_MAX) KEEP(DBL_MIN) KEEP(DBL_EPSILON)
							KEEP(CLK_LOCAL_MEM_FENCE)
								KEEP(CLK_GLOBAL_MEM_FENCE)
	/* Marks of regions (kymo/kernel.h): what is rewritten has none of them any more. */
	"#define KYMO_REGION_BEGIN(name) kymo_region_begin(#name)\n"
	"#define KYMO_REGION_END(name) kymo_region_end(#name)\n"
	"void kymo_region_begin(__constant char *kymo_name);\n"
	"void kymo_region_end(__constant char *kymo_name);\n";

/* ---- words ---- */

void words_add(struct words *w, const char *format, ...)
{
	va_list list;
	char *s = NULL;

	va_start(list, format);
	if (vasprintf(&s, format, list) < 0)
		s = NULL;
	va_end(list);
	if (!s || !vec_reserve(&w->items, &w->room, w->count, 2)) {
		free(s);
		w->failed = true;
		return;
	}
	w->items[w->count++] = s;
	w->items[w->count] = NULL;
}

void words_release(struct words *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		free(w->items[i]);
	free(w->items);
	*w = (struct words){0};
}

/* The next word of `s`, in double quotes or not, as runtimes take them, into `out`. NULL: there is none. */
static const char *next_word(const char *s, struct text *out)
{
	char quote = '\0';

	out->length = 0;
	s += strspn(s, " \t\r\n");
	if (!*s)
		return NULL;
	for (; *s && (quote || !strchr(" \t\r\n", *s)); s++) {
		if (*s == quote)
			quote = '\0';
		else if (!quote && *s == '"')
			quote = *s;
		else if (*s == '\\' && s[1] && strchr("\"\\ ", s[1]))
			text_add_bytes(out, ++s, 1);
		else
			text_add_bytes(out, s, 1);
	}
	text_add_bytes(out, "", 0);
	return out->failed ? NULL : s;
}

/* ---- options ---- */

/* What decides what the program says: the standard and what literals are. */
static bool for_both(const char *word)
{
	return strncmp(word, "-cl-std=", 8) == 0 ||
	       strcmp(word, "-cl-single-precision-constant") == 0 ||
	       strcmp(word, "-cl-fast-relaxed-math") == 0;
}

static void take_options(const char *options, struct words *both, struct words *macros,
			 struct text *rest)
{
	struct text word = {0};
	const char *s = options;

	while ((s = next_word(s, &word)) != NULL) {
		bool macro = strncmp(word.s, "-D", 2) == 0 || strncmp(word.s, "-U", 2) == 0 ||
			     strncmp(word.s, "-I", 2) == 0;

		if (macro) {
			words_add(macros, "%s", word.s);
			if (!word.s[2] && (s = next_word(s, &word)) != NULL)
				words_add(macros, "%s", word.s);
			if (!s)
				break;
			continue;
		}
		if (strcmp(word.s, "-g") == 0)
			continue; /* of the text that is written, nobody would debug it */
		if (for_both(word.s))
			words_add(both, "%s", word.s);
		text_add(rest, rest->length ? " " : "");
		text_add_shell(rest, word.s);
	}
	text_release(&word);
}

static void take_extensions(const char *extensions, struct words *macros)
{
	struct text word = {0};
	const char *s = extensions;

	words_add(macros, "-Xclang");
	words_add(macros, "-cl-ext=-all");
	while ((s = next_word(s, &word)) != NULL)
		words_add(macros, "-D%s=1", word.s);
	text_release(&word);
}

void preprocess_options(const struct rewrite_request *q, const struct clang *c, struct words *both,
			struct words *macros, struct text *rest)
{
	static const char *const common[] = {
		"-x", "cl",         "-target",     "spir64-unknown-unknown",
		"-w", "-U__SPIR__", "-U__SPIR64__"};

	for (unsigned i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		words_add(both, "%s", common[i]);
	if (c->resources[0]) {
		words_add(both, "-isystem"); /* libclang looks beside itself only */
		words_add(both, "%s", c->resources);
	}
	words_add(both, "-cl-std=%s", q->standard ? q->standard : "CL1.2");
	if (q->extensions)
		take_extensions(q->extensions, macros);
	if (q->options)
		take_options(q->options, both, macros, rest);
}

/* ---- the preprocessor ---- */

/* Its input, output and errors are files without names: no pipe can be full. */
struct files {
	int in, out, errors;
};

static bool make_files(struct files *f, const struct rewrite_request *q)
{
	static const char begin[] = "# 1 \"<stdin>\"\n";
	const char *folder = temporary_directory();

	f->in = temporary_file(folder);
	f->out = temporary_file(folder);
	f->errors = temporary_file(folder);
	return f->in >= 0 && f->out >= 0 && f->errors >= 0 &&
	       file_write_all(f->in, kept_names, sizeof(kept_names) - 1) ==
		       sizeof(kept_names) - 1 &&
	       file_write_all(f->in, begin, sizeof(begin) - 1) == sizeof(begin) - 1 &&
	       file_write_all(f->in, q->source, q->length) == q->length &&
	       lseek(f->in, 0, SEEK_SET) == 0;
}

static void close_files(struct files *f)
{
	const int all[] = {f->in, f->out, f->errors};

	for (int i = 0; i < 3; i++)
		if (all[i] >= 0)
			close(all[i]);
}

/* Returns its wait status, or -1 with errno. */
static int run(const struct files *f, char **argv)
{
	posix_spawn_file_actions_t actions;
	int status = -1, failed;
	pid_t pid;

	failed = posix_spawn_file_actions_init(&actions);
	if (failed) {
		errno = failed;
		return -1;
	}
	failed = posix_spawn_file_actions_adddup2(&actions, f->in, STDIN_FILENO);
	failed =
		failed ? failed : posix_spawn_file_actions_adddup2(&actions, f->out, STDOUT_FILENO);
	failed = failed ? failed
			: posix_spawn_file_actions_adddup2(&actions, f->errors, STDERR_FILENO);
	failed = failed ? failed : posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (failed) {
		errno = failed;
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static bool read_all(int fd, struct text *out)
{
	char bytes[16384];
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) != 0)
		return false;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		text_add_bytes(out, bytes, (size_t)n);
	return n == 0 && !out->failed;
}

/* The first line of what it complained about that says error. */
static void first_error(int fd, char why[REWRITE_WHY])
{
	struct text all = {0};
	const char *error;

	if (read_all(fd, &all) && all.s) {
		error = strstr(all.s, "error: ");
		error = error ? error + 7 : all.s;
		snprintf(why, REWRITE_WHY, "clang: %.*s", (int)strcspn(error, "\n"), error);
	} else {
		snprintf(why, REWRITE_WHY, "clang: it failed and did not say why");
	}
	text_release(&all);
}

bool preprocess(const struct rewrite_request *q, const struct clang *c, const struct words *both,
		const struct words *macros, struct text *out, bool *program_error,
		char why[REWRITE_WHY])
{
	struct words argv = {0};
	struct files f = {-1, -1, -1};
	int status = -1;
	bool ok = false;

	*program_error = false;
	words_add(&argv, "%s", c->program);
	words_add(&argv, "-E");
	words_add(&argv, "-cl-no-stdinc");
	for (uint32_t i = 0; i < both->count; i++)
		words_add(&argv, "%s", both->items[i]);
	for (uint32_t i = 0; i < macros->count; i++)
		words_add(&argv, "%s", macros->items[i]);
	words_add(&argv, "-");
	if (!make_files(&f, q)) {
		snprintf(why, REWRITE_WHY, "no file can be made in %.300s: %s",
			 temporary_directory(), strerror(errno));
		close_files(&f);
		words_release(&argv);
		return false;
	}
	if (!argv.failed)
		status = run(&f, argv.items);
	if (status == -1)
		snprintf(why, REWRITE_WHY, "%.400s: %s", c->program, strerror(errno));
	else if (status != 0) {
		*program_error = WIFEXITED(status);
		first_error(f.errors, why);
	} else if (!(ok = read_all(f.out, out)))
		snprintf(why, REWRITE_WHY, "what %.400s wrote cannot be read: %s", c->program,
			 strerror(errno));
	close_files(&f);
	words_release(&argv);
	return ok;
}
