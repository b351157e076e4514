/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: where code lies, so that addresses can be resolved after the run. What was loaded since the last look is told before a call site or stack
 * that may lie in it: a library may be closed long before the process ends, and the process may be killed.
 */
#include "core/define/define.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/hash.h"
#include "base/variables.h"

#define SEEN  8192u /* no more are told */
#define FOUND 256u  /* in one walk over the objects */

struct seen {
	uintptr_t start, end;
	uint64_t hash; /* of its path and build id */
};

/* What is copied under the loader's lock: nothing may wait there. */
struct found {
	uintptr_t start, end, bias;
	uint32_t path, id, id_length; /* in `text` */
	bool told;
};

/* Under `telling`. */
static struct seen seen[SEEN];
static struct found found[FOUND];
static uint32_t seen_count, next_seen, found_count;
static char text[64u << 10];
static size_t text_used;

static _Atomic bool telling;
static _Atomic uint64_t told; /* elf_objects_loaded() then */

/* Else it is remembered, and what lay there before is gone. A walk meets them in the order in which they were seen. */
static bool seen_before(const struct seen *new)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < seen_count; i++) {
		const uint32_t at = (next_seen + i) % seen_count;

		if (memcmp(&seen[at], new, sizeof(*new)) == 0) {
			next_seen = at + 1;
			return true;
		}
	}
	if (seen_count == SEEN)
		return true;
	for (uint32_t i = 0; i < seen_count; i++)
		if (seen[i].end <= new->start || seen[i].start >= new->end)
			seen[kept++] = seen[i];
	seen[kept] = *new;
	seen_count = next_seen = kept + 1;
	return false;
}

static void build_id(const struct dl_phdr_info *info, const void **id, size_t *length)
{
	*id = "";
	*length = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint8_t *p = (const uint8_t *)(info->dlpi_addr + ph->p_vaddr);
		const uint8_t *end = p + ph->p_memsz;

		if (ph->p_type != PT_NOTE)
			continue;
		while (p + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *n = (const void *)p;
			size_t name = (n->n_namesz + 3u) & ~3u, desc = (n->n_descsz + 3u) & ~3u;

			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
			    memcmp(n + 1, "GNU", 4) == 0) {
				*id = (const uint8_t *)(n + 1) + name;
				*length = n->n_descsz;
				return;
			}
			p += sizeof(*n) + name + desc;
		}
	}
}

static uint32_t put(const void *data, size_t n)
{
	memcpy(text + text_used, data, n);
	text_used += n;
	return (uint32_t)(text_used - n);
}

/* 1: no room for more, which are found in the next walk. */
static int find(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *path =
		info->dlpi_name && info->dlpi_name[0] ? info->dlpi_name : core_program_path();
	struct seen new = {.start = UINTPTR_MAX};
	size_t length, path_size = strlen(path) + 1;
	const void *id;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t a = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		new.start = a < new.start ? a : new.start;
		new.end = a + ph->p_memsz > new.end ? a + ph->p_memsz : new.end;
	}
	if (new.start >= new.end)
		return 0;
	build_id(info, &id, &length);
	if (path_size + length > sizeof(text))
		return 0;
	if (found_count == FOUND || path_size + length > sizeof(text) - text_used)
		return 1;
	new.hash = hash_bytes((const uint8_t *)path, path_size) ^ hash_bytes(id, length) << 1;
	if (!seen_before(&new))
		found[found_count++] = (struct found){new.start,
						      new.end,
						      info->dlpi_addr,
						      put(path, path_size),
						      put(id, length),
						      (uint32_t)length,
						      false};
	return 0;
}

/* What `kymo attach` loads is a copy in memory that is gone when names are looked for. */
static const char *lasting_path(const char *path)
{
	const char *copy = variable("KYMO_ATTACHED_COPY"),
		   *library = variable("KYMO_ATTACHED_LIBRARY");

	return copy && library && strcmp(path, copy) == 0 ? library : path;
}

static void define(struct found *f, const char *path)
{
	struct wire_def d;

	f->told = true;
	wire_def_init(&d, DEF_MODULE);
	wire_def_u64(&d, f->start);
	wire_def_u64(&d, f->end);
	wire_def_u64(&d, f->bias);
	wire_def_string(&d, lasting_path(path));
	wire_def_bytes(&d, text + f->id, f->id_length);
	wire_def_u64(&d, tick_now());
	cap_define(&d);
}

/* By a relative path: nobody knows in which folder that was. The vDSO is no file. */
static bool is_relative(const struct found *f)
{
	return text[f->path] != '/' && strchr(text + f->path, '/');
}

/* A line of /proc/self/maps. */
static void define_mapped(const char *line)
{
	const char *path = strchr(line, '/');
	char *at;
	uintptr_t from = strtoul(line, &at, 16), to = *at == '-' ? strtoul(at + 1, NULL, 16) : 0;

	for (uint32_t i = 0; path && i < found_count; i++) {
		struct found *f = &found[i];

		if (!f->told && f->start >= from && f->start < to && is_relative(f))
			define(f, path);
	}
}

/* Those that were opened by relative paths: the kernel knows the whole ones. */
static void define_relative(void)
{
	static char maps[2 * PATH_MAX];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, maps + used, sizeof(maps) - 1 - used)) > 0) {
		char *line = maps, *end;

		used += (size_t)n;
		maps[used] = '\0';
		for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
			*end = '\0';
			define_mapped(line);
		}
		used -= (size_t)(line - maps);
		memmove(maps, line, used);
	}
	if (fd >= 0)
		close(fd);
}

static void define_found(void)
{
	bool relative = false;

	for (uint32_t i = 0; i < found_count; i++)
		relative = relative || is_relative(&found[i]);
	if (relative)
		define_relative();
	for (uint32_t i = 0; i < found_count; i++)
		if (!found[i].told)
			define(&found[i], text + found[i].path);
}

void core_define_modules(void)
{
	const uint64_t loaded = elf_objects_loaded();
	const int saved = errno;
	static bool full;
	uint64_t before;
	int more = 1;

	if (loaded == atomic_load(&told) || !core_defines())
		return;
	core_signals_block(&before);           /* a handler may leave by longjmp() */
	if (atomic_exchange(&telling, true)) { /* that thread tells what this one has seen */
		core_signals_restore(&before);
		return;
	}
	while (more) {
		found_count = 0;
		text_used = 0;
		more = dl_iterate_phdr(find, NULL);
		define_found();
	}
	if (seen_count == SEEN && !full) {
		full = true;
		cap_note(1, "process",
			 "more than %u libraries were loaded: functions of others have no names",
			 SEEN);
	}
	atomic_store(&told, loaded);
	atomic_store(&telling, false);
	core_signals_restore(&before);
	errno = saved;
}

/* Another thread of the parent's may have been at it. */
void core_modules_fork_child(void)
{
	seen_count = 0;
	atomic_store(&told, 0);
	atomic_store(&telling, false);
}
