/* SPDX-License-Identifier: Apache-2.0 */
/* Running the disassembler and reading what it prints; see sass.h. */
#include "metrics/sass.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "base/vec.h"
#include "stream/demangle.h"

extern char **environ;

/* A function: what follows its label, to where addresses begin again. */
struct symbol {
	char *name; /* demangled */
	uint32_t first;
};

struct module {
	char *name;
	struct sass_code *at;
	struct symbol *symbols;
	bool label; /* in front of what comes next */
	uint32_t count, room, symbol_count, symbol_room;
};

struct sass {
	char tool[PATH_MAX];
	const char *option;
	struct module *modules;
	uint32_t count, room;
};

/* ---- the disassembler ---- */

static bool is_there(struct sass *s, const char *folder, int length, const char *name)
{
	const int n = snprintf(s->tool, sizeof(s->tool), "%.*s/%s", length, folder, name);

	return length && n < (int)sizeof(s->tool) && access(s->tool, X_OK) == 0;
}

static bool find_tool(struct sass *s, const char *name)
{
	const char *path = getenv("PATH");
	const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
	char folder[PATH_MAX];

	for (const char *p = path ? path : ""; *p; p += *p == ':') {
		int length = (int)strcspn(p, ":");

		if (is_there(s, p, length, name))
			return true;
		p += length;
	}
	for (unsigned i = 0; i < sizeof(homes) / sizeof(*homes); i++) {
		int n = homes[i] ? snprintf(folder, sizeof(folder), "%s/bin", homes[i]) : 0;

		if (n > 0 && n < (int)sizeof(folder) && is_there(s, folder, n, name))
			return true;
	}
	s->tool[0] = '\0';
	return false;
}

struct sass *sass_new(void)
{
	struct sass *s = calloc(1, sizeof(*s));

	if (s && find_tool(s, "nvdisasm"))
		s->option = "-c";
	else if (s && find_tool(s, "cuobjdump"))
		s->option = "-sass";
	return s;
}

const char *sass_why(const struct sass *s)
{
	return s->tool[0] ? NULL
			  : "there is no nvdisasm here, nor cuobjdump: install NVIDIA's CUDA "
			    "toolkit, and have its bin in PATH or name it in CUDA_HOME";
}

/* ---- what it prints ---- */

/* A label, or the "Function : NAME" of cuobjdump. */
static bool add_symbol(struct module *m, const char *name, size_t length)
{
	struct symbol *x;
	char *symbol = strndup(name, length);

	if (!symbol || !vec_reserve(&m->symbols, &m->symbol_room, m->symbol_count, 1)) {
		free(symbol);
		return false;
	}
	x = &m->symbols[m->symbol_count++];
	x->first = m->count;
	x->name = demangle(symbol);
	if (x->name)
		free(symbol);
	else
		x->name = symbol;
	return true;
}

static bool add_instruction(struct module *m, uint64_t address, const char *text)
{
	size_t n = strcspn(text, ";\n");
	struct sass_code *x;

	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	if (!vec_reserve(&m->at, &m->room, m->count, 1))
		return false;
	x = &m->at[m->count];
	*x = (struct sass_code){address, strndup(text, n), m->label};
	m->label = false;
	m->count += x->text != NULL;
	return x->text != NULL;
}

/*
 * Of both tools alike: "        / *0a30* /    @P0 FMUL R3, R4, R5 ;" (without spaces inside of the stars), perhaps with
 * the instruction's bits behind it. Labels stand at the beginning of a line, ".L_x_1:" and ".text.NAME:" among them.
 */
static bool add_line(struct module *m, const char *line)
{
	static const char function[] = "Function : ";
	const char *text = line + strspn(line, " \t");
	size_t n = strcspn(text, " \t\r\n");
	char *end;

	if (strncmp(text, function, sizeof(function) - 1) == 0) {
		text += sizeof(function) - 1;
		return add_symbol(m, text, strcspn(text, " \t\r\n"));
	}
	if (text == line && n > 1 && text[n - 1] == ':' && *text != '.')
		return add_symbol(m, text, n - 1);
	m->label |= text == line && n > 1 && text[n - 1] == ':';
	if (text == line || strncmp(text, "/*", 2) != 0 || strncmp(text, "/*0x", 4) == 0)
		return true;
	const uint64_t address = strtoull(text + 2, &end, 16);

	if (end == text + 2 || strncmp(end, "*/", 2) != 0)
		return true; /* of the bits of the instruction before */
	end += 2;
	return add_instruction(m, address, end + strspn(end, " \t"));
}

static bool spawn(const struct sass *s, pid_t *child, const char *path, int out)
{
	char *const argv[] = {(char *)(uintptr_t)s->tool, (char *)(uintptr_t)s->option,
			      (char *)(uintptr_t)path, NULL};
	posix_spawn_file_actions_t actions;
	bool ok;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	ok = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) == 0 &&
	     posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ==
		     0 &&
	     posix_spawn(child, s->tool, &actions, NULL, argv, environ) == 0;
	posix_spawn_file_actions_destroy(&actions);
	return ok;
}

/* cuobjdump prints no labels, but where jumps go: "BRA 0x120", in the function of the jump. */
static void mark_target(struct module *m, uint32_t from, uint32_t i)
{
	const char *text = strstr(m->at[i].text, "B");
	const char *target = text && (strncmp(text, "BRA", 3) == 0 || strncmp(text, "BSSY", 4) == 0)
				     ? strstr(text, " 0x")
				     : NULL;
	const uint64_t address = target ? strtoull(target + 1, NULL, 16) : UINT64_MAX;

	for (uint32_t k = from; target && k < m->count; k++)
		if (m->at[k].address == address) {
			m->at[k].first = true;
			return;
		}
}

static void mark_targets(struct module *m)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < m->count; i++) {
		if (i && m->at[i].address <= m->at[i - 1].address)
			from = i;
		mark_target(m, from, i);
	}
}

static void read_lines(struct module *m, FILE *f)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, f) >= 0 && add_line(m, line))
		;
	free(line);
	mark_targets(m);
}

static void disassemble(const struct sass *s, struct module *m, const char *path)
{
	pid_t child;
	FILE *f;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return;
	f = fdopen(pipes[0], "r");
	if (f && spawn(s, &child, path, pipes[1])) {
		close(pipes[1]);
		read_lines(m, f);
		fclose(f);
		waitpid(child, NULL, 0);
		return;
	}
	close(pipes[1]);
	if (f)
		fclose(f);
	else
		close(pipes[0]);
}

/* ---- modules ---- */

static struct module *find_module(const struct sass *s, const char *name)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (strcmp(s->modules[i].name, name) == 0)
			return &s->modules[i];
	return NULL;
}

void sass_module(struct sass *s, const char *name, const void *cubin, size_t bytes)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	struct module *m;
	int fd;

	if (sass_why(s) || find_module(s, name) || !vec_reserve(&s->modules, &s->room, s->count, 1))
		return;
	m = &s->modules[s->count];
	*m = (struct module){.name = strdup(name)};
	if (!m->name)
		return;
	s->count++;
	snprintf(path, sizeof(path), "%.4000s/kymo-XXXXXX.cubin", folder ? folder : "/tmp");
	fd = mkostemps(path, sizeof(".cubin") - 1, O_CLOEXEC);
	if (fd < 0)
		return;
	temporary_add(path);
	if (file_write_all(fd, cubin, bytes) == bytes)
		disassemble(s, m, path);
	close(fd);
	unlink(path);
	temporary_done(path);
}

/* Where addresses begin again another function begins, even without a label. */
static uint32_t length_of(const struct module *m, const struct symbol *x)
{
	uint32_t k = x->first;

	while (k < m->count && (k == x->first || m->at[k].address > m->at[k - 1].address))
		k++;
	return k - x->first;
}

const struct sass_code *sass_function(const struct sass *s, const char *module,
				      const char *function, uint32_t *count)
{
	const struct module *m = find_module(s, module);

	for (uint32_t i = 0; m && i < m->symbol_count; i++) {
		const struct symbol *x = &m->symbols[i];

		*count = strcmp(x->name, function) == 0 ? length_of(m, x) : 0;
		if (*count)
			return &m->at[x->first];
	}
	return NULL;
}

void sass_free(struct sass *s)
{
	for (uint32_t i = 0; s && i < s->count; i++) {
		struct module *m = &s->modules[i];

		for (uint32_t k = 0; k < m->count; k++)
			free(m->at[k].text);
		for (uint32_t k = 0; k < m->symbol_count; k++)
			free(m->symbols[k].name);
		free(m->at);
		free(m->symbols);
		free(m->name);
	}
	if (s)
		free(s->modules);
	free(s);
}
