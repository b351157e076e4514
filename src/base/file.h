/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files and directories. All return false or NULL with errno set. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Opens a file for reading, if it is a regular one. What lies in a trace is somebody else's: a pipe
 * there would be waited for. -1: errno says why, EINVAL that it is something else.
 */
int file_open_regular(const char *path);

/* Content of a file, terminated; caller frees. `bytes` may be NULL. */
char *file_read(const char *path, size_t *bytes);

/* The same of regular files only. */
char *file_read_regular(const char *path, size_t *bytes);

/* And of those that have `most` bytes or fewer; else EFBIG. */
char *file_read_limited(const char *path, size_t most);

/*
 * A folder that only this user, and who may do everything, can have made. A link is none, whatever it
 * leads to; neither is what belongs to another user, though this one be the superuser.
 */
bool file_is_own(int folder);
/* Opens one. -1: errno; EPERM: it is somebody else's, ELOOP or ENOTDIR: a link. */
int file_open_own(int at, const char *path);

/* Part of a name that nobody can foresee, and that no other process comes upon. */
enum { FILE_TOKEN = 9 };
void file_token(char out[FILE_TOKEN]);

/* A file that was not there, readable for the user alone, in a folder of his own. -1: errno. */
int file_create_own(const char *path, int flags);

/* Replaces a file by a new one like that: written beside it, then renamed. */
bool file_replace(const char *path, const char *data, size_t bytes);

/* Writes all of it, however many calls it takes; returns what was written. */
size_t file_write_all(int fd, const void *data, size_t bytes);

/* mkdir -p of the folder that holds `path`. */
bool file_make_parents(const char *path, mode_t mode);

/*
 * Marks a directory as in use by this process: until it ends, or the descriptor is closed. -1: the
 * file system cannot.
 */
int file_hold(const char *directory);
bool file_is_held(const char *directory);

/* rm -r. Does not follow links. */
bool file_remove_tree(const char *path);
bool file_remove_tree_at(int at, const char *name);

#endif
