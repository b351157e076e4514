/* SPDX-License-Identifier: Apache-2.0 */
/* What a store was made of: name, size and time of change of each raw file and manifest. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/store/store.h"
#include "wire/raw.h"

struct source {
	const char *file;
	int64_t size, modified;
	int folder;
};

static bool begins_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && strcmp(s + n - m, suffix) == 0;
}

/* Calls `visit` for the files of a folder with such names; false when it does, or without folder. */
static bool each_file(const char *path, const char *prefix, const char *suffix,
		      bool (*visit)(void *, const struct source *), void *data)
{
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;
	bool ok = true;

	if (!d)
		return false;
	while (ok && (e = readdir(d))) {
		if (!begins_with(e->d_name, prefix) || !ends_with(e->d_name, suffix) ||
		    fstatat(dirfd(d), e->d_name, &st, 0) != 0)
			continue;
		ok = visit(data, &(struct source){e->d_name, st.st_size,
						  (int64_t)st.st_mtim.tv_sec * 1000000000 +
							  st.st_mtim.tv_nsec,
						  dirfd(d)});
	}
	closedir(d);
	return ok;
}

/* Raw files, and the manifests: they say how a process ended whose file could not be written to. */
static bool each_source(const char *trace_path, bool (*visit)(void *, const struct source *),
			void *data)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/raw", trace_path) >= (int)sizeof(path))
		return false;
	return each_file(path, "", ".kyr", visit, data) &&
	       each_file(trace_path, "manifest", ".json", visit, data);
}

static bool add_source(void *data, const struct source *f)
{
	sqlite3_stmt *s = data;
	int rc;

	sqlite3_bind_text(s, 1, f->file, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, f->size);
	sqlite3_bind_int64(s, 3, f->modified);
	rc = sqlite3_step(s);
	sqlite3_reset(s);
	return rc == SQLITE_DONE;
}

bool store_sources_write(sqlite3 *db, const char *trace_path)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(db, "INSERT INTO source(file, size, modified) VALUES(?, ?, ?)",
				     -1, &s, NULL) == SQLITE_OK;
	int saved;

	ok = ok && each_source(trace_path, add_source, s);
	saved = errno;
	sqlite3_finalize(s);
	errno = saved;
	return ok;
}

struct match {
	sqlite3_stmt *find;
	int64_t files;
};

/* Bytes of a raw file if nothing of it were compressed, as far as it is whole. */
static int64_t plain_size(const struct source *f)
{
	int fd = openat(f->folder, f->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int64_t at = sizeof(struct raw_header), size = f->size;
	struct raw_block b;

	while (fd >= 0 && at < f->size && pread(fd, &b, sizeof(b), at) == (ssize_t)sizeof(b) &&
	       b.magic == RAW_BLOCK_MAGIC) {
		at += (int64_t)sizeof(b) + b.stored;
		if (b.flags & RAW_ZSTD)
			size += (int64_t)b.raw - b.stored;
	}
	if (fd >= 0)
		close(fd);
	return size;
}

/* A file that has been compressed since has kept its time, and says the same. */
static bool is_same(const struct source *f, int64_t size)
{
	return f->size == size ||
	       (f->size < size && ends_with(f->file, ".kyr") && plain_size(f) >= size);
}

static bool match_source(void *data, const struct source *f)
{
	struct match *m = data;
	bool found;

	m->files++;
	sqlite3_bind_text(m->find, 1, f->file, -1, SQLITE_STATIC);
	sqlite3_bind_int64(m->find, 2, f->modified);
	found = sqlite3_step(m->find) == SQLITE_ROW && is_same(f, sqlite3_column_int64(m->find, 0));
	sqlite3_reset(m->find);
	return found;
}

bool store_sources_match(sqlite3 *db, const char *trace_path)
{
	struct match m = {0};
	sqlite3_stmt *count = NULL;
	bool ok = sqlite3_prepare_v2(db, "SELECT size FROM source WHERE file = ? AND modified = ?",
				     -1, &m.find, NULL) == SQLITE_OK &&
		  sqlite3_prepare_v2(db, "SELECT count(*) FROM source", -1, &count, NULL) ==
			  SQLITE_OK &&
		  each_source(trace_path, match_source, &m) && sqlite3_step(count) == SQLITE_ROW &&
		  sqlite3_column_int64(count, 0) == m.files;

	sqlite3_finalize(m.find);
	sqlite3_finalize(count);
	return ok;
}
