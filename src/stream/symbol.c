/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites by elfutils' libdwfl; see symbol.h. */
#include "stream/symbol.h"

#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "stream/demangle.h"
#ifdef KYMO_HAVE_DW
#include "stream/dwarf_place.h"
#include "stream/symbol_index.h"
#endif

/* One for each distinct file: the processes of a trace mostly map the same ones. */
struct file {
	const struct t_module *module; /* the first that named it */
	bool opened;
#ifdef KYMO_HAVE_DW
	Dwfl *dwfl;
	Dwfl_Module *elf; /* NULL: cannot be used */
	struct dwarf_units units;
	struct symbol_index symbols;
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
	struct symbol **callers; /* owned: of inlined functions */
	uint32_t callers_count, callers_room, numbered;
	bool *own;          /* by module: it is Kymo's */
	uint32_t *own_site; /* by process: that which stands for Kymo's code */
	uint32_t *shown;    /* what symbols_stack() gave last */
	uint32_t shown_room;
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

/* A copy of what the kernel maps into each process for calls that need not enter it: the same one if it is the same kernel. -1: none. */
static int open_vdso(void)
{
	const ElfW(Ehdr) *e = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	int fd = e ? memfd_create("kymo-vdso", MFD_CLOEXEC) : -1;
	size_t bytes = e ? e->e_shoff + (size_t)e->e_shnum * e->e_shentsize : 0;

	if (fd >= 0 && write(fd, e, bytes) == (ssize_t)bytes)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The module is reported at its own addresses: one description serves every process. */
static void open_file(struct symbols *s, struct file *f)
{
	const char *path = f->module->path;
	const bool is_file = *path == '/';
	const int fd = strncmp(path, "linux-vdso", 10) == 0 ? open_vdso() : -1;
	GElf_Addr bias;

	f->opened = true;
	if (!is_file && fd < 0)
		return;
	f->dwfl = dwfl_begin(&callbacks);
	if (f->dwfl) {
		dwfl_report_begin(f->dwfl);
		f->elf = dwfl_report_elf(f->dwfl, path, path, fd, 0, true);
		dwfl_report_end(f->dwfl, NULL, NULL);
	}
	if (!f->elf && fd >= 0)
		close(fd); /* else the library does */
	if (!f->dwfl)
		return;
	if (!is_file && (!f->elf || !same_build(f->elf, f->module))) {
		f->elf = NULL; /* of another kernel */
	} else if (!f->elf || !dwfl_module_getelf(f->elf, &bias)) {
		if (!s->missing++)
			stream_warn(s->log, "%s: no function names of this module: %s", path,
				    dwfl_errmsg(-1));
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

/* Where a name ends that a compiler has added to, for a copy that it made of the function, or a linker, for its version. */
static size_t written_length(const char *name)
{
	static const char *const added[] = {".constprop.", ".isra.", ".part.", ".cold",
					    ".lto_priv",   ".llvm.", "@"};
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

/* Takes over `name`, NULL: there was no memory for it, or is none. */
static const char *keep_name(struct symbols *s, char *name)
{
	if (!name || !vec_reserve(&s->functions, &s->function_room, s->function_count, 1)) {
		free(name);
		return NULL;
	}
	return s->functions[s->function_count++] = name;
}

/*
 * PoCL builds each kernel to an object, NAME.so, with functions of its own around what the program wrote. Its source lay in a
 * temporary file while it was compiled.
 */
static const char *kernel_function(struct symbols *s, const struct t_module *m, const char *name)
{
	static const char before[] = "_pocl_kernel_";
	static const char *const behind[] = {"_workgroup_fast", "_workgroup"};
	size_t length = strlen(name), file = strlen(base_name(m->path));

	if (strncmp(name, before, sizeof(before) - 1) != 0)
		return NULL;
	name += sizeof(before) - 1;
	length -= sizeof(before) - 1;
	for (unsigned i = 0; i < sizeof(behind) / sizeof(*behind); i++) {
		const size_t n = strlen(behind[i]);

		/* The object's name tells where a kernel's own name ends so. */
		if (length > n && length + 3 != file && strcmp(name + length - n, behind[i]) == 0) {
			length -= n;
			break;
		}
	}
	return keep_name(s, strndup(name, length));
}

static const char *kernel_file(struct symbols *s, const struct symbol *y)
{
	static const char made[] = "tempfile_";
	const size_t room = strlen(y->function) + sizeof(".cl");
	const char *kept;
	char *name;

	if (!y->file || strncmp(base_name(y->file), made, sizeof(made) - 1) != 0)
		return y->file;
	name = malloc(room);
	if (name)
		snprintf(name, room, "%s.cl", y->function);
	kept = keep_name(s, name);
	return kept ? kept : y->file;
}

/* A place in a kernel is named as its dispatches are. */
static void name_kernel(struct symbols *s, const struct t_module *m, const char *symbol,
			struct symbol *out)
{
	const char *name = symbol ? kernel_function(s, m, symbol) : NULL;

	if (!name)
		return;
	out->function = name;
	out->file = kernel_file(s, out);
	out->caller = NULL; /* what the compiler has inlined there has lines of the same source */
}

/* Of a framework's headers: its users have not written it, and look for their own line. */
static bool of_framework(const char *name)
{
	static const char *const prefixes[] = {"_ZN4occa", "_ZNK4occa"};

	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Inlined functions around the innermost one, and last the one that they are in. */
static void add_callers(struct symbols *s, const struct dwarf_place *places, unsigned count,
			struct symbol *out)
{
	const char *function = out->function;
	struct symbol *callers;

	callers = count > 1 && vec_reserve(&s->callers, &s->callers_room, s->callers_count, 1)
			  ? calloc(count - 1, sizeof(*callers))
			  : NULL;
	if (!callers)
		return;
	s->callers[s->callers_count++] = callers;
	for (unsigned i = 1; i < count; i++) {
		struct symbol *c = &callers[i - 1];

		*c = *out;
		c->number = s->trace->sites_count + s->numbered++;
		c->function = i == count - 1 ? function : written_function(s, places[i].function);
		c->file = places[i].file;
		c->line = places[i].line;
		c->caller = NULL;
		if (i > 1)
			callers[i - 2].caller = c;
	}
	out->caller = callers;
	out->function = written_function(s, places[0].function);
}

/* Functions of frameworks that the compiler has inlined here are passed over, from the innermost on. */
static void find_lines(struct symbols *s, struct file *f, uint64_t address, struct symbol *out)
{
	struct dwarf_place places[DWARF_PLACES], *p = places;
	unsigned n = dwarf_places(&f->units, f->elf, address, places);

	for (; n > 1 && of_framework(p->function); n--)
		p++;
	if (!n)
		return;
	out->file = p->file;
	out->line = p->line;
	add_callers(s, p, n, out);
}

static void look_up(struct symbols *s, const struct t_module *m, struct file *f, uint64_t address,
		    struct symbol *out)
{
	const struct symbol_range *symbol;
	const char *name;

	if (!f->opened)
		open_file(s, f);
	if (!f->elf)
		return;
	address -= m->bias;
	symbol = symbol_index_find(&f->symbols, f->elf, address);
	name = symbol ? symbol->name : NULL;
	out->function = written_function(s, name);
	find_lines(s, f, address, out);
	name_kernel(s, m, name, out);
}

static bool look_up_code(struct symbols *s, struct file *f, uint64_t at, struct symbol_code *out)
{
	const struct symbol_range *symbol;
	GElf_Addr inner = at, bias;
	const Elf_Data *data;
	uint64_t offset, size;
	Elf_Scn *section;

	if (!f->opened)
		open_file(s, f);
	symbol = f->elf ? symbol_index_find(&f->symbols, f->elf, at) : NULL;
	if (!symbol || !symbol->sized)
		return false;
	offset = at - symbol->start;
	size = symbol->end - symbol->start;
	section = dwfl_module_address_section(f->elf, &inner, &bias);
	data = section ? elf_rawdata(section, NULL) : NULL;
	if (!data || !data->d_buf || offset > inner || inner - offset > data->d_size ||
	    size > data->d_size - (inner - offset))
		return false;
	*out = (struct symbol_code){.bytes = (const uint8_t *)data->d_buf + (inner - offset),
				    .size = size,
				    .address = at - offset,
				    .at = at};
	return true;
}

static void close_file(struct file *f)
{
	dwarf_units_release(&f->units);
	symbol_index_release(&f->symbols);
	if (f->dwfl)
		dwfl_end(f->dwfl);
}

#else

static void look_up(struct symbols *s, const struct t_module *m, struct file *f, uint64_t address,
		    struct symbol *out)
{
	/* Module and offset are all that can be said without libdw. */
}

static bool look_up_code(struct symbols *s, struct file *f, uint64_t at, struct symbol_code *out)
{
	return false;
}

static void close_file(struct file *f)
{
}

#endif

bool symbols_have_lines(void)
{
#ifdef KYMO_HAVE_DW
	return true;
#else
	return false;
#endif
}

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

/* Kymo's libraries lie in one folder, and in its subfolder "kymo" those that go by other libraries' names. */
static void find_own(struct symbols *s)
{
	const struct trace *t = s->trace;
	const char *folder = NULL;
	size_t length = 0;

	for (uint32_t i = 1; i < t->modules_count; i++) {
		const char *path = t->modules[i].path, *name = base_name(path);

		s->own[i] = strncmp(name, "libkymo", 7) == 0;
		if (strncmp(name, "libkymo.so", 10) == 0) {
			folder = path;
			length = (size_t)(name - path);
		}
	}
	for (uint32_t i = 1; folder && i < t->modules_count; i++) {
		const char *path = t->modules[i].path;

		s->own[i] |= strncmp(path, folder, length) == 0 &&
			     strncmp(path + length, "kymo/", 5) == 0;
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
	s->own = calloc(t->modules_count, sizeof(*s->own));
	s->own_site = calloc(t->processes_count, sizeof(*s->own_site));
	if (!s->sites || !s->known || !s->file_of || !s->files || !s->own || !s->own_site) {
		symbols_free(s);
		return NULL;
	}
	find_own(s);
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
	for (uint32_t i = 0; i < s->callers_count; i++)
		free(s->callers[i]);
	free(s->callers);
	free(s->shown);
	free(s->own);
	free(s->own_site);
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
	out->number = site;
	out->caller = t->caller > site && t->caller < s->trace->sites_count
			      ? symbols_site(s, t->caller)
			      : NULL;
	/* The address is where the call returns to: the call itself lies before it. */
	if (!t->function && t->module)
		look_up(s, m, &s->files[s->file_of[t->module]], t->address - 1, out);
	return out;
}

bool symbols_code(struct symbols *s, uint32_t site, struct symbol_code *out)
{
	const struct t_site *t = &s->trace->sites[site];

	return t->module && look_up_code(s, &s->files[s->file_of[t->module]],
					 t->address - 1 - s->trace->modules[t->module].bias, out);
}

static bool is_own(const struct symbols *s, uint32_t site)
{
	return site < s->trace->sites_count && s->own[s->trace->sites[site].module];
}

/* One site stands for all of Kymo's code: the first of the process that is in it. */
static uint32_t own_site(struct symbols *s, uint32_t site)
{
	const struct t_site *sites = s->trace->sites;
	const uint32_t process = sites[site].process;
	uint32_t i = s->own_site[process];

	if (i)
		return i;
	for (i = 1; sites[i].process != process || !is_own(s, i); i++)
		;
	s->own_site[process] = i;
	s->sites[i] = (struct symbol){.function = "(Kymo)", .module = "", .number = i};
	s->known[i] = true;
	return i;
}

const uint32_t *symbols_stack(struct symbols *s, uint32_t stack, enum symbols_own own,
			      uint32_t *count)
{
	const struct t_stack *k = &s->trace->stacks[stack < s->trace->stacks_count ? stack : 0];
	uint32_t first = 0, n = 0;

	*count = k->count;
	while (first < k->count && !is_own(s, k->sites[first]))
		first++;
	if (first == k->count || !vec_reserve(&s->shown, &s->shown_room, 0, k->count))
		return k->sites;
	if (first == 0 && own == SYMBOLS_TIME)
		s->shown[n++] = own_site(s, k->sites[0]);
	for (uint32_t i = 0; i < k->count; i++)
		if (!is_own(s, k->sites[i]))
			s->shown[n++] = k->sites[i];
	if (!n)
		s->shown[n++] = own_site(s, k->sites[0]);
	*count = n;
	return s->shown;
}

const char *symbol_text(const struct symbol *y, char *out, size_t size)
{
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

const char *symbols_text(struct symbols *s, uint32_t site, char *out, size_t size)
{
	return symbol_text(symbols_site(s, site), out, size);
}

const char *symbol_frame(const struct symbol *y, char *out, size_t size)
{
	static const char mark[] = " (inlined)";
	size_t room = y->caller && size > sizeof(mark) ? size - sizeof(mark) + 1 : size;

	if (y->function)
		snprintf(out, room, "%s", y->function);
	else
		symbol_text(y, out, room);
	if (room < size)
		strcat(out, mark);
	return out;
}
