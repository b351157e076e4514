/* SPDX-License-Identifier: Apache-2.0 */
/* See keep.h. Files are replaced as a whole, so that readers need no lock. */
#include "roofs/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/vec.h"
#include "roofs/measure.h"

#define FOLDER "kymo/roofs"

bool keep_folder(char out[PATH_MAX], char why[ROOF_WHY])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;

	if (cache && *cache == '/')
		n = snprintf(out, PATH_MAX, "%s/" FOLDER, cache);
	else if (home && *home == '/')
		n = snprintf(out, PATH_MAX, "%s/.cache/" FOLDER, home);
	if (n > 0 && n < PATH_MAX - NAME_MAX)
		return true;
	snprintf(why, ROOF_WHY, "no place to keep them: set XDG_CACHE_HOME, or HOME");
	return false;
}

/* What a device is known by, as a word that files can be named with. */
static void key_of(const struct roof_device *d, char out[NAME_MAX])
{
	struct text all = {0};
	char name[64];
	size_t n = 0;

	for (const char *s = d->name; *s && n < sizeof(name) - 1; s++) {
		bool plain = (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') ||
			     (*s >= 'A' && *s <= 'Z');

		if (plain || (n && name[n - 1] != '-'))
			name[n++] = plain ? *s : '-';
	}
	name[n] = '\0';
	text_addf(&all, "%s\n%s\n%s\n%s\n%s\n%s\n%s\n%u", d->api, d->vendor, d->name, d->driver,
		  d->uuid, d->pci, *d->uuid || *d->pci ? "" : d->host, d->twin);
	snprintf(out, NAME_MAX, "%s-%016llx", name,
		 (unsigned long long)hash_string(all.s ? all.s : ""));
	text_release(&all);
}

bool keep_path(const struct roof_device *d, char out[PATH_MAX], char why[ROOF_WHY])
{
	char key[NAME_MAX];
	size_t n;

	if (!keep_folder(out, why))
		return false;
	key_of(d, key);
	n = strlen(out);
	snprintf(out + n, PATH_MAX - n, "/%s.json", key);
	return true;
}

static bool same_device(const struct roof_device *a, const struct roof_device *b)
{
	return strcmp(a->api, b->api) == 0 && strcmp(a->vendor, b->vendor) == 0 &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->driver, b->driver) == 0 &&
	       strcmp(a->uuid, b->uuid) == 0 && strcmp(a->pci, b->pci) == 0 &&
	       strcmp(a->host, b->host) == 0 && a->twin == b->twin;
}

bool keep_find(const struct roof_device *d, struct roofs *out)
{
	struct roofs_list l = {0};
	char path[PATH_MAX], why[ROOF_WHY];
	bool found;

	if (!keep_path(d, path, why))
		return false;
	found = roofs_read_file(path, &l, why) && l.count == 1 && same_device(&l.list[0].device, d);
	if (found)
		*out = l.list[0];
	roofs_list_release(&l);
	return found;
}

unsigned keep_missing(const struct roofs *r)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < r->count; i++)
		missing += strcmp(r->roofs[i].why, MEASURE_NO_TIME) == 0;
	return missing;
}

static bool write_roofs(const struct roofs *r, char why[ROOF_WHY])
{
	struct roofs one = *r;
	struct roofs_list l = {.list = &one, .count = 1};
	struct text t = {0};
	char path[PATH_MAX];
	bool ok;

	if (!keep_path(&r->device, path, why))
		return false;
	roofs_write(&l, &t);
	ok = !t.failed && file_make_parents(path, 0700) && file_replace(path, t.s, t.length);
	if (!ok)
		snprintf(why, ROOF_WHY, "%.160s cannot be written: %s", path,
			 t.failed ? "no memory" : strerror(errno));
	text_release(&t);
	return ok;
}

bool keep_put(const struct roofs *r, char why[ROOF_WHY])
{
	struct roofs before;

	if (!keep_missing(r) || !keep_find(&r->device, &before) || keep_missing(&before))
		return write_roofs(r, why);
	snprintf(why, ROOF_WHY, "those of %.40s stay, which lack none", before.date);
	return false;
}

static void add_file(struct roofs_list *out, const char *path)
{
	struct roofs_list l = {0};
	char why[ROOF_WHY];

	if (roofs_read_file(path, &l, why))
		for (uint32_t i = 0; i < l.count; i++)
			if (vec_reserve(&out->list, &out->room, out->count, 1))
				out->list[out->count++] = l.list[i];
	roofs_list_release(&l);
}

void keep_all(struct roofs_list *out)
{
	char path[PATH_MAX], why[ROOF_WHY];
	struct dirent *e;
	size_t n;
	DIR *d;

	if (!keep_folder(path, why))
		return;
	d = opendir(path);
	n = strlen(path);
	while (d && (e = readdir(d))) {
		size_t k = strlen(e->d_name);

		if (e->d_name[0] == '.' || k < 6 || strcmp(e->d_name + k - 5, ".json") != 0)
			continue;
		snprintf(path + n, sizeof(path) - n, "/%s", e->d_name);
		add_file(out, path);
	}
	if (d)
		closedir(d);
}

int keep_lock(void (*waiting)(void *data), void *data)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	char path[PATH_MAX], why[ROOF_WHY], host[65] = "";
	size_t n;
	int fd;

	if (!keep_folder(path, why))
		return -1;
	gethostname(host, sizeof(host) - 1);
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/%s.lock", host);
	if (!file_make_parents(path, 0700))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			close(fd);
			return -1;
		}
		waiting(data);
		nanosleep(&pause, NULL);
	}
	return fd;
}
