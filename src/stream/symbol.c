/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites by elfutils' libdwfl; see symbol.h. */
#include "stream/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef KYMO_HAVE_DW
#include <elfutils/libdwfl.h>
#endif

/* One for each distinct file: the processes of a trace mostly map the same ones. */
struct file {
	const struct t_module *module; /* the first that named it */
	bool opened;
#ifdef KYMO_HAVE_DW
	Dwfl *dwfl;
	Dwfl_Module *elf; /* NULL: cannot be used */
#endif
};

struct symbols {
	const struct trace *trace;
	struct stream_log *log;
	struct symbol *sites;
	bool *known;
	uint32_t *file_of; /* by module */
	struct file *files;
	uint32_t file_count;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#ifdef KYMO_HAVE_DW

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
					 .find_debuginfo = dwfl_standard_find_debuginfo};

/* The file on disk is the one that ran, as far as its build id tells. */
static bool same_build(Dwfl_Module *elf, const struct t_module *m)
{
	const unsigned char *id;
	GElf_Addr where;
	int n = dwfl_module_build_id(elf, &id, &where);

	return !m->build_id_length || n <= 0 ||
	       ((uint32_t)n == m->build_id_length && memcmp(id, m->build_id, (size_t)n) == 0);
}

/* The module is reported at its own addresses: one description serves every process. */
static void open_file(struct symbols *s, struct file *f)
{
	GElf_Addr bias;

	f->opened = true;
	if (f->module->path[0] != '/')
		return; /* the vDSO and the like */
	f->dwfl = dwfl_begin(&callbacks);
	if (!f->dwfl)
		return;
	dwfl_report_begin(f->dwfl);
	f->elf = dwfl_report_elf(f->dwfl, f->module->path, f->module->path, -1, 0, true);
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (!f->elf || !dwfl_module_getelf(f->elf, &bias)) {
		stream_warn(s->log, "%s: no function names of this module: %s", f->module->path,
			    dwfl_errmsg(-1));
		f->elf = NULL;
	} else if (!same_build(f->elf, f->module)) {
		stream_warn(s->log,
			    "%s: no function names of this module: it was rebuilt or updated since "
			    "the recording",
			    f->module->path);
		f->elf = NULL;
	}
}

static void look_up(struct symbols *s, const struct t_module *m, struct file *f, uint64_t address,
		    struct symbol *out)
{
	GElf_Off offset;
	GElf_Sym symbol;
	Dwfl_Line *line;
	int number = 0;

	if (!f->opened)
		open_file(s, f);
	if (!f->elf)
		return;
	address -= m->bias;
	out->function = dwfl_module_addrinfo(f->elf, address, &offset, &symbol, NULL, NULL, NULL);
	line = dwfl_module_getsrc(f->elf, address);
	if (line)
		out->file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	out->line = out->file ? (uint32_t)number : 0;
}

static void close_file(struct file *f)
{
	if (f->dwfl)
		dwfl_end(f->dwfl);
}

#else

static void look_up(struct symbols *s, const struct t_module *m, struct file *f, uint64_t address,
		    struct symbol *out)
{
	/* Module and offset are all that can be said without libdw. */
}

static void close_file(struct file *f)
{
}

#endif

static void share_files(struct symbols *s)
{
	const struct trace *t = s->trace;

	for (uint32_t i = 1; i < t->modules_count; i++) {
		uint32_t k = 0;

		while (k < s->file_count && strcmp(s->files[k].module->path, t->modules[i].path) != 0)
			k++;
		if (k == s->file_count)
			s->files[s->file_count++].module = &t->modules[i];
		s->file_of[i] = k;
	}
}

struct symbols *symbols_new(const struct trace *t, struct stream_log *log)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->trace = t;
	s->log = log;
	s->sites = calloc(t->sites_count, sizeof(*s->sites));
	s->known = calloc(t->sites_count, sizeof(*s->known));
	s->file_of = calloc(t->modules_count, sizeof(*s->file_of));
	s->files = calloc(t->modules_count, sizeof(*s->files));
	if (!s->sites || !s->known || !s->file_of || !s->files) {
		symbols_free(s);
		return NULL;
	}
	share_files(s);
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->file_count; i++)
		close_file(&s->files[i]);
	free(s->files);
	free(s->file_of);
	free(s->known);
	free(s->sites);
	free(s);
}

const struct symbol *symbols_site(struct symbols *s, uint32_t site)
{
	const struct t_site *t = &s->trace->sites[site];
	const struct t_module *m = &s->trace->modules[t->module];
	struct symbol *out = &s->sites[site];

	if (s->known[site])
		return out;
	s->known[site] = true;
	out->module = base_name(m->path);
	out->offset = t->module ? t->address - m->bias : t->address;
	out->function = t->function;
	out->file = t->file;
	out->line = t->line;
	/* The address is where the call returns to: the call itself lies before it. */
	if (!t->function && t->module)
		look_up(s, m, &s->files[s->file_of[t->module]], t->address - 1, out);
	return out;
}

const char *symbols_text(struct symbols *s, uint32_t site, char *out, size_t size)
{
	const struct symbol *y = symbols_site(s, site);

	if (y->function && y->file)
		snprintf(out, size, "%s %s:%u", y->function, base_name(y->file), y->line);
	else if (y->function)
		snprintf(out, size, "%s %s", y->function, y->module);
	else if (y->module[0])
		snprintf(out, size, "%s+0x%" PRIx64, y->module, y->offset);
	else
		snprintf(out, size, "0x%" PRIx64, y->offset);
	return out;
}
