/* SPDX-License-Identifier: Apache-2.0 */
/* What a command makes for a while: gone as well where a signal ends it. */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

/*
 * SIGINT, SIGTERM and SIGHUP (where they would end the process) remove the file, or the folder with the files in it,
 * before they do. More than a few at a time are not watched.
 */
void temporary_add(const char *path);

/* It is no longer there under that name. */
void temporary_done(const char *path);

#endif
