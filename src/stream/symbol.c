/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites by elfutils' libdwfl; see symbol.h. */
#include "stream/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "stream/demangle.h"
#ifdef KYMO_HAVE_DW
#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include "base/vec.h"
#endif

/* One for each distinct file: the processes of a trace mostly map the same ones. */
struct file {
	const struct t_module *module; /* the first that named it */
	bool opened;
#ifdef KYMO_HAVE_DW
	Dwfl *dwfl;
	Dwfl_Module *elf;   /* NULL: cannot be used */
	struct unit *units; /* by address; made when the file's own table has missed one */
	size_t unit_count;
	bool units_known;
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
	char **functions; /* owned: names that were cut or demangled */
	uint32_t function_count, function_room;
	uint32_t missing,
		rebuilt; /* modules without names: the first of each is told, others counted */
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
		if (!s->missing++)
			stream_warn(s->log, "%s: no function names of this module: %s",
				    f->module->path, dwfl_errmsg(-1));
		f->elf = NULL;
	} else if (!same_build(f->elf, f->module)) {
		if (!s->rebuilt++)
			stream_warn(s->log,
				    "%s: no function names of this module: it was rebuilt or "
				    "updated since the recording",
				    f->module->path);
		f->elf = NULL;
	}
}

/* A part of a compilation unit, by addresses of the module. */
struct unit {
	Dwarf_Addr low, high, bias;
	Dwarf_Die *die;
};

static int by_address(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

static bool add_unit(struct file *f, size_t *room, const struct unit *u)
{
	if (!vec_reserve(&f->units, room, f->unit_count, 1))
		return false;
	f->units[f->unit_count++] = *u;
	return true;
}

static void find_units(struct file *f)
{
	struct unit u = {.die = NULL};
	Dwarf_Addr base;
	size_t room = 0;
	bool ok = true;

	f->units_known = true;
	while (ok && (u.die = dwfl_module_nextcu(f->elf, u.die, &u.bias))) {
		Dwarf_Addr low, high;
		ptrdiff_t at = 0;

		while (ok && (at = dwarf_ranges(u.die, at, &base, &low, &high)) > 0) {
			u.low = low + u.bias;
			u.high = high + u.bias;
			ok = add_unit(f, &room, &u);
		}
	}
	if (f->unit_count)
		qsort(f->units, f->unit_count, sizeof(*f->units), by_address);
}

/*
 * The compilation unit that an address lies in. Clang writes no .debug_aranges, which is all that
 * libdw looks at: then the units' own ranges tell.
 */
static Dwarf_Die *unit_of(struct file *f, uint64_t address, Dwarf_Addr *bias)
{
	Dwarf_Die *die = dwfl_module_addrdie(f->elf, address, bias);
	size_t low = 0, high;

	if (die)
		return die;
	if (!f->units_known)
		find_units(f);
	for (high = f->unit_count; low < high;) {
		size_t middle = (low + high) / 2;

		if (f->units[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= f->units[low - 1].high)
		return NULL;
	*bias = f->units[low - 1].bias;
	return f->units[low - 1].die;
}

/* What a compiler made without a line of the source (0) belongs to the line before. */
static Dwarf_Line *line_before(Dwarf_Die *unit, Dwarf_Line *of)
{
	Dwarf_Line *line = NULL, *before = of;
	Dwarf_Lines *lines;
	int number = 0;
	size_t n;

	if (dwarf_lineno(of, &number) != 0 || number || dwarf_getsrclines(unit, &lines, &n) != 0)
		return of;
	for (size_t i = 0; i < n && line != of; i++) {
		bool end = false;

		line = dwarf_onesrcline(lines, i);
		if (dwarf_lineendsequence(line, &end) == 0 && end)
			before = of;
		else if (dwarf_lineno(line, &number) == 0 && number)
			before = line;
	}
	return before;
}

/* Of a framework's headers: its users have not written it, and look for their own line. */
static bool of_framework(Dwarf_Die *die)
{
	static const char *const prefixes[] = {"_ZN4occa", "_ZNK4occa"};
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	for (unsigned i = 0; name && i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Where the inlined function `die` was called. */
static void call_line(Dwarf_Die *unit, Dwarf_Die *die, struct symbol *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t n;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &n) != 0 || file >= n)
		return;
	out->file = dwarf_filesrc(files, file, NULL, NULL);
	out->line = (uint32_t)line;
}

/* Functions of frameworks that the compiler has inlined here are passed over, from the innermost on. */
static void leave_framework(Dwarf_Die *unit, Dwarf_Addr address, struct symbol *out)
{
	Dwarf_Die *at = NULL, *around = NULL;
	int n = dwarf_getscopes(unit, address, &at);

	n = n > 0 ? dwarf_getscopes_die(&at[0], &around) : 0;
	for (int i = 0; i < n; i++) {
		int tag = dwarf_tag(&around[i]);

		if (tag == DW_TAG_subprogram ||
		    (tag == DW_TAG_inlined_subroutine && !of_framework(&around[i])))
			break;
		if (tag == DW_TAG_inlined_subroutine)
			call_line(unit, &around[i], out);
	}
	free(at);
	free(around);
}

static void find_line(struct file *f, uint64_t address, struct symbol *out)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = unit_of(f, address, &bias);
	Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
	int number = 0;

	if (!line)
		return;
	line = line_before(unit, line);
	out->file = dwarf_linesrc(line, NULL, NULL);
	if (out->file && dwarf_lineno(line, &number) == 0)
		out->line = (uint32_t)number;
	leave_framework(unit, address - bias, out);
}

/* Where a name ends that a compiler has added to, for a copy that it made of the function. */
static size_t written_length(const char *name)
{
	static const char *const added[] = {".constprop.", ".isra.",    ".part.",
					    ".cold",       ".lto_priv", ".llvm."};
	size_t length = strlen(name);

	for (unsigned i = 0; i < sizeof(added) / sizeof(*added); i++) {
		const char *at = strstr(name, added[i]);

		if (at && at != name && (size_t)(at - name) < length)
			length = (size_t)(at - name);
	}
	return length;
}

/* "start_kernel" of "start_kernel.constprop.0", "a::f(int)" of "_ZN1a1fEi". */
static const char *written_function(struct symbols *s, const char *name)
{
	size_t length = name ? written_length(name) : 0;
	char *copy, *plain;

	if (!name || (!name[length] && strncmp(name, "_Z", 2) != 0))
		return name;
	if (!vec_reserve(&s->functions, &s->function_room, s->function_count, 1))
		return name;
	copy = strndup(name, length);
	if (!copy)
		return name;
	plain = demangle(copy);
	if (plain)
		free(copy);
	return s->functions[s->function_count++] = plain ? plain : copy;
}

static void look_up(struct symbols *s, const struct t_module *m, struct file *f, uint64_t address,
		    struct symbol *out)
{
	GElf_Off offset;
	GElf_Sym symbol;

	if (!f->opened)
		open_file(s, f);
	if (!f->elf)
		return;
	address -= m->bias;
	out->function = written_function(
		s, dwfl_module_addrinfo(f->elf, address, &offset, &symbol, NULL, NULL, NULL));
	find_line(f, address, out);
}

static void close_file(struct file *f)
{
	free(f->units);
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

		while (k < s->file_count &&
		       strcmp(s->files[k].module->path, t->modules[i].path) != 0)
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

static void tell_others(const struct symbols *s)
{
	uint32_t missing = s->missing > 1 ? s->missing - 1 : 0;
	uint32_t rebuilt = s->rebuilt > 1 ? s->rebuilt - 1 : 0;

	if (missing)
		stream_warn(s->log,
			    "no function names of %u more module%s, whose file%s cannot be read on "
			    "this machine",
			    missing, plural(missing), missing == 1 ? "" : "s");
	if (rebuilt)
		stream_warn(
			s->log,
			"no function names of %u more module%s that %s rebuilt or updated since "
			"the recording",
			rebuilt, plural(rebuilt), rebuilt == 1 ? "was" : "were");
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	tell_others(s);
	for (uint32_t i = 0; i < s->file_count; i++)
		close_file(&s->files[i]);
	for (uint32_t i = 0; i < s->function_count; i++)
		free(s->functions[i]);
	free(s->functions);
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
	struct text shorter = {0};
	const char *function = y->function;

	if (function && name_shorten(&shorter, function) && !shorter.failed)
		function = shorter.s;
	if (function && y->file)
		snprintf(out, size, "%s %s:%u", function, base_name(y->file), y->line);
	else if (function)
		snprintf(out, size, "%s%s%s", function, y->module[0] ? " " : "", y->module);
	else if (y->module[0])
		snprintf(out, size, "%s+0x%" PRIx64, y->module, y->offset);
	else
		snprintf(out, size, "0x%" PRIx64, y->offset);
	text_release(&shorter);
	return out;
}
