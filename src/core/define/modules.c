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

#define SEEN  2048u
#define FOUND 256u /* in one walk over the objects */

struct seen {
	uintptr_t start, end;
	uint64_t hash; /* of its path and build id */
};

/* What is copied under the loader's lock: nothing may wait there. */
struct found {
	uintptr_t start, end, bias;
	uint32_t path, id, id_length; /* in `text` */
};

/* Under `telling`. */
static struct seen seen[SEEN];
static struct found found[FOUND];
static uint32_t seen_count, found_count;
static char text[64u << 10];
static size_t text_used;

static _Atomic bool telling;
static _Atomic uint64_t told; /* elf_objects_loaded() then */

/* Else it is remembered, and what lay there before is gone. */
static bool seen_before(const struct seen *new)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < seen_count; i++)
		if (memcmp(&seen[i], new, sizeof(*new)) == 0)
			return true;
	for (uint32_t i = 0; i < seen_count; i++)
		if (seen[i].end <= new->start || seen[i].start >= new->end)
			seen[kept++] = seen[i];
	seen_count = kept;
	if (seen_count < SEEN)
		seen[seen_count++] = *new;
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
		found[found_count++] = (struct found){new.start,       new.end,
						      info->dlpi_addr, put(path, path_size),
						      put(id, length), (uint32_t)length};
	return 0;
}

/* The path in a line of /proc/self/maps of what is mapped at the address. */
static const char *path_in(const char *line, uintptr_t address)
{
	char *at;
	uintptr_t from = strtoul(line, &at, 16), to = *at == '-' ? strtoul(at + 1, NULL, 16) : 0;

	return address >= from && address < to ? strchr(line, '/') : NULL;
}

/* Of a library that was opened by a relative path, and of which nobody knows in which folder that was. The kernel does. */
static const char *absolute_path(uintptr_t start, const char *path)
{
	static char maps[2 * PATH_MAX];
	int fd = *path == '/' ? -1 : open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	const char *known = NULL;
	size_t used = 0;
	ssize_t n = 0;

	while (fd >= 0 && !known && (n = read(fd, maps + used, sizeof(maps) - 1 - used)) > 0) {
		char *line = maps, *end;

		used += (size_t)n;
		maps[used] = '\0';
		while (!known && (end = strchr(line, '\n'))) {
			*end = '\0';
			known = path_in(line, start);
			line = end + 1;
		}
		if (known)
			break;
		used -= (size_t)(line - maps);
		memmove(maps, line, used);
	}
	if (fd >= 0)
		close(fd);
	return known ? known : path;
}

/* What `kymo attach` loads is a copy in memory that is gone when names are looked for. */
static const char *lasting_path(const char *path)
{
	const char *copy = variable("KYMO_ATTACHED_COPY"),
		   *library = variable("KYMO_ATTACHED_LIBRARY");

	return copy && library && strcmp(path, copy) == 0 ? library : path;
}

static void define(const struct found *f)
{
	struct wire_def d;

	wire_def_init(&d, DEF_MODULE);
	wire_def_u64(&d, f->start);
	wire_def_u64(&d, f->end);
	wire_def_u64(&d, f->bias);
	wire_def_string(&d, absolute_path(f->start, lasting_path(text + f->path)));
	wire_def_bytes(&d, text + f->id, f->id_length);
	wire_def_u64(&d, tick_now());
	cap_define(&d);
}

void core_define_modules(void)
{
	const uint64_t loaded = elf_objects_loaded();
	const int saved = errno;
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
		for (uint32_t i = 0; i < found_count; i++)
			define(&found[i]);
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
