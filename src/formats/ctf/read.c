/* SPDX-License-Identifier: Apache-2.0 */
/* The reader as a whole; see reader.h. */
#include "formats/ctf/read.h"

#include <stdlib.h>
#include <string.h>

#include "formats/ctf/reader.h"

/* Asked of the first message of each trace. */
static void look(struct ctf_reader *r, const bt_message *m)
{
	const bt_trace *trace;
	const bt_value *v;

	if (bt_message_get_type(m) != BT_MESSAGE_TYPE_STREAM_BEGINNING)
		return;
	trace = bt_stream_borrow_trace_const(bt_message_stream_beginning_borrow_stream_const(m));
	v = bt_trace_borrow_environment_entry_value_by_name_const(trace, "tracer_name");
	r->own = v && bt_value_is_string(v) && strcmp(bt_value_string_get(v), "kymo") == 0;
	r->done = true;
}

static kymo_status_t read_all(struct ctf_reader *r)
{
	kymo_status_t status = ctf_try(r);

	if (status == KYMO_OK)
		status = ctf_messages(r, look);
	if (status != KYMO_OK)
		return status;
	if (r->own && r->folders.count > 1) {
		stream_error(r->o->log,
			     "%s: it has several traces of Kymo; import each one and merge them "
			     "with \"kymo merge\"",
			     r->path);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	status = r->own ? ctf_read_own(r) : ctf_read_foreign(r);
	unplaced_tell(&r->unplaced, r->o->log, "left out of what was read");
	return status;
}

kymo_status_t ctf_read(const char *path, const struct stream_filter *filter, bool ordered,
		       struct stream_sink *sink, const struct format_options *o)
{
	struct ctf_reader *r = calloc(1, sizeof(*r));
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	(void)filter;
	(void)ordered;
	if (r)
		r->t = trace_new();
	if (r && r->t && ctf_find(path, &r->folders)) {
		r->o = o;
		r->path = path;
		r->sink = sink;
		r->t->path = trace_string(r->t, path, strlen(path));
		status = read_all(r);
	}
	make_tell_memory(status, o->log, path);
	if (r) {
		ctf_folders_release(&r->folders);
		ctf_release_place(r);
		free(r->scratch);
		free(r->sets.all);
		trace_free(r->t);
	}
	free(r);
	return status;
}
