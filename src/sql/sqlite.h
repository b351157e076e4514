/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite as `kymo` links it, or, in the extension that other programs load (extension.c), the
 * functions of the SQLite which that program has: never two of them at work on one connection.
 */
#ifndef SQL_SQLITE_H
#define SQL_SQLITE_H

#ifdef KYMO_SQLITE_EXTENSION
#include <sqlite3ext.h>
extern const sqlite3_api_routines *sqlite3_api;
#else
#include <sqlite3.h>
#endif

#endif
