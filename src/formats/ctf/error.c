/* SPDX-License-Identifier: Apache-2.0 */
/* See error.h. */
#include "formats/ctf/error.h"

#include <string.h>

void ctf_tell_error(struct stream_log *log, const char *path, const char *what)
{
	const bt_error *e = bt_current_thread_take_error();
	const char *why = NULL;

	for (uint64_t i = 0; e && i < bt_error_get_cause_count(e); i++) {
		const char *cause =
			bt_error_cause_get_message(bt_error_borrow_cause_by_index(e, i));

		if (!why || strstr(cause, CTF_OF_FILE))
			why = cause;
	}
	stream_error(log, "%s: %s: %s", path, what,
		     why ? why : "libbabeltrace2 or its plugin \"ctf\" does not say why");
	if (e)
		bt_error_release(e);
}

void ctf_drop_error(void)
{
	bt_current_thread_clear_error();
}

const bt_plugin *ctf_plugin(const char *name)
{
	const bt_plugin *plugin = NULL;

	if (bt_plugin_find(name, BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return NULL;
	return plugin;
}
