/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kymo_sqlite.so: kymo_arg(), kymo_args(), kymo_status() and the view region_args for other
 * programs that open a store: sqlite3, Python, pandas, DB Browser. SQLite finds the entry by the
 * file's name.
 */
#include <sqlite3ext.h>

#include "formats/store/store.h"

SQLITE_EXTENSION_INIT1

__attribute__((visibility("default"))) int sqlite3_kymosqlite_init(sqlite3 *db, char **error,
								   const sqlite3_api_routines *api);

int sqlite3_kymosqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	SQLITE_EXTENSION_INIT2(api);
	if (store_functions_late(db))
		return SQLITE_OK;
	*error = sqlite3_mprintf("the functions of Kymo cannot be added");
	return SQLITE_ERROR;
}
