/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of the small files of sysfs and procfs. They may be missing, forbidden, or (in a container
 * that fakes them) nonsense: nothing here trusts a length, a number or a list.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "topology/model.h"

#define ENTRIES_MAX 8192u
#define NAME_ROOM   64u

bool topo_path(const struct topo *t, char out[TOPO_PATH], const char *format, ...)
{
	int n = snprintf(out, TOPO_PATH, "%s", t->root), m;
	va_list args;

	va_start(args, format);
	m = vsnprintf(out + n, TOPO_PATH - (size_t)n, format, args);
	va_end(args);
	return m >= 0 && (size_t)n + (size_t)m < TOPO_PATH;
}

static enum topo_read_result why(int error)
{
	if (error == ENOENT || error == ENOTDIR || error == ENODEV || error == ENXIO)
		return TOPO_READ_MISSING;
	return error == EACCES || error == EPERM ? TOPO_READ_DENIED : TOPO_READ_BAD;
}

enum topo_read_result topo_read_file(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t n = 0;
	ssize_t got = 1;
	struct stat st;

	text[0] = '\0';
	if (fd < 0)
		return why(errno);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) { /* never a device, never a pipe */
		close(fd);
		return TOPO_READ_BAD;
	}
	while (n < room && (got = read(fd, text + n, room - n)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		n += (size_t)got;
	}
	if (got < 0) {
		int error = errno;

		close(fd);
		text[0] = '\0';
		return why(error);
	}
	close(fd);
	if (n == room || memchr(text, '\0', n)) {
		text[0] = '\0';
		return TOPO_READ_BAD;
	}
	text[n] = '\0';
	return TOPO_READ_OK;
}

bool topo_line(const char *folder, const char *name, char *out, size_t room)
{
	char path[TOPO_PATH], text[4096];
	char *s = text;
	size_t n;

	out[0] = '\0';
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path) ||
	    topo_read_file(path, text, sizeof(text)) != TOPO_READ_OK)
		return false;
	s[strcspn(s, "\n")] = '\0';
	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	if (!n || n >= room)
		return false;
	memcpy(out, s, n);
	out[n] = '\0';
	return true;
}

/* The whole of `s` is a number that fits. */
static bool parse_number(const char *s, uint64_t *out)
{
	char *end;
	unsigned long long v;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtoull(s, &end, s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10);
	if (errno || *end)
		return false;
	*out = v;
	return true;
}

bool topo_number(const char *folder, const char *name, uint64_t *out)
{
	char line[64];

	return topo_line(folder, name, line, sizeof(line)) && parse_number(line, out);
}

bool topo_signed(const char *folder, const char *name, int64_t *out)
{
	char line[64];
	uint64_t v;
	bool minus;

	if (!topo_line(folder, name, line, sizeof(line)))
		return false;
	minus = line[0] == '-';
	if (!parse_number(line + minus, &v) || v > INT64_MAX)
		return false;
	*out = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

bool topo_link(const char *folder, const char *name, char *out, size_t room)
{
	char path[TOPO_PATH], target[TOPO_PATH];
	const char *last;
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return false;
	n = readlink(path, target, sizeof(target));
	if (n <= 0 || (size_t)n >= sizeof(target))
		return false;
	target[n] = '\0';
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	return *last && (size_t)snprintf(out, room, "%s", last) < room;
}

/* ---- folders ---- */

struct entry {
	char name[NAME_ROOM];
};

/* node2 before node10: numbers count as numbers. */
static int by_number(const void *x, const void *y)
{
	return strverscmp(((const struct entry *)x)->name, ((const struct entry *)y)->name);
}

static struct entry *list_folder(DIR *d, const char *prefix, size_t *count)
{
	size_t room = 0, n = 0;
	struct entry *list = NULL;
	struct dirent *e;

	while (n < ENTRIES_MAX && (e = readdir(d))) {
		if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, strlen(prefix)) != 0 ||
		    strlen(e->d_name) >= NAME_ROOM)
			continue;
		if (!vec_reserve(&list, &room, n, 1))
			break;
		memcpy(list[n++].name, e->d_name, strlen(e->d_name) + 1);
	}
	*count = n;
	if (n)
		qsort(list, n, sizeof(*list), by_number);
	return list;
}

bool topo_each(const char *folder, const char *prefix, void (*visit)(const char *name, void *data),
	       void *data)
{
	DIR *d = opendir(folder);
	struct entry *list;
	size_t n;

	if (!d)
		return false;
	list = list_folder(d, prefix, &n);
	closedir(d);
	for (size_t i = 0; i < n; i++)
		visit(list[i].name, data);
	free(list);
	return true;
}

/* ---- formats ---- */

/* "0-3,8" as bits; returns how many are set below `limit`, -1 if it is no such list. */
static int list_bits(const char *text, uint64_t *bits, unsigned limit)
{
	int set = 0;

	while (*text) {
		unsigned long first, last;
		char *end;

		if (!isdigit((unsigned char)*text))
			return -1;
		first = last = strtoul(text, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (last < first || (*end && *end != ','))
			return -1;
		for (unsigned long i = first; i <= last && i < limit; i++) {
			set += !(bits[i / 64] >> i % 64 & 1);
			bits[i / 64] |= (uint64_t)1 << i % 64;
		}
		text = end + (*end == ',');
	}
	return set;
}

int topo_list_file(const char *folder, const char *name, uint64_t *bits, unsigned limit)
{
	char line[4096];

	memset(bits, 0, (limit + 7) / 8);
	return topo_line(folder, name, line, sizeof(line)) ? list_bits(line, bits, limit) : -1;
}

/* The value, if the line that starts at `line` is "key value" or "key : value". */
static const char *value_of(const char *line, const char *key)
{
	size_t k = strlen(key), n = strcspn(line, "\n");
	const char *s = line + k;

	if (n <= k || strncmp(line, key, k) != 0 || !strchr(" \t:", *s))
		return NULL;
	s += strspn(s, " \t");
	if (*s == ':')
		return s + 1 + strspn(s + 1, " \t");
	return memchr(s, ':', (size_t)(line + n - s)) ? NULL : s; /* "model" is not "model name" */
}

const char *topo_key(const char *text, const char *key, char *out, size_t room)
{
	for (; *text; text += *text == '\n') {
		const char *s = value_of(text, key);

		if (s) {
			size_t n = strcspn(s, "\n");

			while (n && isspace((unsigned char)s[n - 1]))
				n--;
			if (!n || n >= room)
				return NULL;
			memcpy(out, s, n);
			out[n] = '\0';
			return out;
		}
		text += strcspn(text, "\n");
	}
	return NULL;
}

bool topo_key_number(const char *text, const char *key, uint64_t *out)
{
	char value[64];

	if (!topo_key(text, key, value, sizeof(value)))
		return false;
	value[strcspn(value, " \t")] = '\0'; /* "1024 kB" */
	return parse_number(value, out);
}

bool topo_pci_parse(const char *text, kymo_agent_pci_t *out)
{
	unsigned domain, bus, device, function;
	int n = 0;

	/* VMD controllers make domains of more than four digits. */
	if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &n) != 4 ||
	    text[n] || !isxdigit((unsigned char)*text) || device > 31 || function > 7)
		return false;
	out->domain = domain;
	out->bus = (uint8_t)bus;
	out->device = (uint8_t)device;
	out->function = (uint8_t)function;
	return true;
}
