/* SPDX-License-Identifier: Apache-2.0 */
/* The graph that reads; see reader.h. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/ctf/error.h"
#include "formats/ctf/reader.h"

/* A damaged trace shall not take the memory of the machine. */
#define TRY_MEMORY (UINT64_C(8) << 30)

struct run {
	struct ctf_reader *r;
	ctf_take take;
	bt_message_iterator *iterator;
	uint32_t first, end; /* folders */
};

/* ---- our sink -------------------------------------------------------------------------------- */

static bt_component_class_initialize_method_status
sink_init(bt_self_component_sink *sink, bt_self_component_sink_configuration *c,
	  const bt_value *parameters, void *data)
{
	(void)c;
	(void)parameters;
	bt_self_component_set_data(bt_self_component_sink_as_self_component(sink), data);
	return bt_self_component_sink_add_input_port(sink, "in", NULL, NULL) ==
			       BT_SELF_COMPONENT_ADD_PORT_STATUS_OK
		       ? BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK
		       : BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
}

static bt_component_class_sink_graph_is_configured_method_status
sink_configured(bt_self_component_sink *sink)
{
	struct run *run =
		bt_self_component_get_data(bt_self_component_sink_as_self_component(sink));
	bt_self_component_port_input *port =
		bt_self_component_sink_borrow_input_port_by_index(sink, 0);

	return bt_message_iterator_create_from_sink_component(sink, port, &run->iterator) ==
			       BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK
		       ? BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK
		       : BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
}

static bt_component_class_sink_consume_method_status sink_consume(bt_self_component_sink *sink)
{
	struct run *run =
		bt_self_component_get_data(bt_self_component_sink_as_self_component(sink));
	bt_message_array_const messages;
	uint64_t count = 0;
	bt_message_iterator_next_status status;

	if (run->r->done)
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
	status = bt_message_iterator_next(run->iterator, &messages, &count);
	if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (bt_component_class_sink_consume_method_status)status;
	for (uint64_t i = 0; i < count; i++) {
		if (run->take && !run->r->done)
			run->take(run->r, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

static void sink_finalize(bt_self_component_sink *sink)
{
	struct run *run =
		bt_self_component_get_data(bt_self_component_sink_as_self_component(sink));

	bt_message_iterator_put_ref(run->iterator);
	run->iterator = NULL;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static bool add_sink(bt_graph *graph, struct run *run, const bt_component_sink **out)
{
	bt_component_class_sink *class = bt_component_class_sink_create("kymo", sink_consume);
	bool ok = class && bt_component_class_sink_set_initialize_method(class, sink_init) == 0 &&
		  bt_component_class_sink_set_finalize_method(class, sink_finalize) == 0 &&
		  bt_component_class_sink_set_graph_is_configured_method(class, sink_configured) ==
			  0 &&
		  bt_graph_add_sink_component_with_initialize_method_data(
			  graph, class, "kymo", NULL, run, BT_LOGGING_LEVEL_NONE, out) == 0;

	bt_component_class_sink_put_ref(class);
	return ok;
}

static bool add_source(bt_graph *graph, const bt_component_class_source *class, const char *folder,
		       uint32_t number, const bt_component_source **out)
{
	bt_value *parameters = bt_value_map_create(), *inputs = NULL;
	char name[24];
	bool ok;

	snprintf(name, sizeof(name), "source%u", number);
	ok = parameters &&
	     bt_value_map_insert_empty_array_entry(parameters, "inputs", &inputs) == 0 &&
	     bt_value_array_append_string_element(inputs, folder) == 0 &&
	     bt_graph_add_source_component(graph, class, name, parameters, BT_LOGGING_LEVEL_NONE,
					   out) == 0;
	bt_value_put_ref(parameters);
	return ok;
}

static bool connect(bt_graph *graph, const bt_component_source *source,
		    const bt_component_filter *muxer)
{
	uint64_t ports = bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < ports; i++) {
		uint64_t next = bt_component_filter_get_input_port_count(muxer) - 1;

		if (bt_graph_connect_ports(
			    graph, bt_component_source_borrow_output_port_by_index_const(source, i),
			    bt_component_filter_borrow_input_port_by_index_const(muxer, next),
			    NULL) != 0)
			return false;
	}
	return true;
}

static bool fill(struct run *run, bt_graph *graph, const bt_plugin *ctf, const bt_plugin *utils)
{
	const bt_component_class_source *source_class =
		bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs");
	const bt_component_class_filter *muxer_class =
		bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer");
	const struct ctf_folders *f = &run->r->folders;
	const bt_component_filter *muxer;
	const bt_component_source *source;
	const bt_component_sink *sink;

	if (!source_class || !muxer_class ||
	    bt_graph_add_filter_component(graph, muxer_class, "muxer", NULL, BT_LOGGING_LEVEL_NONE,
					  &muxer) != 0 ||
	    !add_sink(graph, run, &sink))
		return false;
	for (uint32_t i = run->first; i < run->end; i++)
		if (!add_source(graph, source_class, f->paths[i], i, &source) ||
		    !connect(graph, source, muxer))
			return false;
	return bt_graph_connect_ports(
		       graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
		       bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL) == 0;
}

static void forget_classes(struct ctf_reader *r)
{
	for (uint32_t i = 0; r->classes.entries && i <= r->classes.mask; i++)
		if (r->classes.entries[i].value)
			free((void *)(uintptr_t)r->classes.entries[i].value);
	map_release(&r->classes);
}

static bool run_graph(struct run *run, const bt_plugin *ctf, const bt_plugin *utils)
{
	bt_graph *graph = bt_graph_create(0);
	bool ok;

	run->r->graphs++;
	ok = graph && fill(run, graph, ctf, utils) && bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;

	forget_classes(run->r);
	bt_graph_put_ref(graph);
	return ok;
}

/* Those with a clock first, all together; of the others each alone. */
kymo_status_t ctf_messages(struct ctf_reader *r, ctf_take take)
{
	const bt_plugin *ctf = ctf_plugin("ctf"), *utils = ctf_plugin("utils");
	const struct ctf_folders *f = &r->folders;
	bool ok = ctf && utils;

	r->done = false;
	for (uint32_t i = 0; i < f->count && ok && !r->done;) {
		struct run run = {r, take, NULL, i, i < f->clocked ? f->clocked : i + 1};

		ok = run_graph(&run, ctf, utils);
		i = run.end;
	}
	if (!ok && r->status == KYMO_OK) {
		ctf_tell_error(r->o->log, r->path, "libbabeltrace2 cannot read it");
		r->status = KYMO_ERROR_NOT_FOUND;
	}
	bt_plugin_put_ref(ctf);
	bt_plugin_put_ref(utils);
	ctf_drop_error();
	return r->status;
}

/* ---- trying ---------------------------------------------------------------------------------- */

/* What it says goes to who waits for it. */
static int teller = -1;

static void pass_on(struct stream_log *l, int severity, const char *text)
{
	(void)l;
	if (severity >= 3)
		file_write_all(teller, text, strlen(text));
}

/* It takes terabytes of addresses. GCC has a macro for it, clang a feature. */
#ifdef __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#define ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define ADDRESS_SANITIZER 0
#endif

static _Noreturn void try_here(struct ctf_reader *r)
{
	const struct rlimit none = {0, 0};
	const struct rlimit memory = {TRY_MEMORY, TRY_MEMORY};
	static struct stream_log log = {pass_on};
	static struct format_options o;

	o = *r->o;
	o.log = &log;
	r->o = &o;
	setrlimit(RLIMIT_CORE, &none);
	if (!ADDRESS_SANITIZER)
		setrlimit(RLIMIT_AS, &memory);
	signal(SIGABRT, SIG_DFL);
	bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	_exit(ctf_messages(r, NULL) == KYMO_OK ? 0 : 1);
}

/* False: there is no process. */
static bool try_once(struct ctf_reader *r, int *state, char *said, size_t room)
{
	int ends[2];
	size_t n = 0;
	ssize_t got;
	pid_t child;

	if (pipe(ends) != 0)
		return false;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		teller = ends[1];
		try_here(r);
	}
	close(ends[1]);
	while (child > 0 && n + 1 < room && (got = read(ends[0], said + n, room - n - 1)) != 0)
		n += got > 0 ? (size_t)got : 0;
	said[n] = 0;
	close(ends[0]);
	while (child > 0 && waitpid(child, state, 0) < 0 && errno == EINTR)
		;
	return child > 0;
}

/* "Failed to index CTF stream file 'PATH'": the path. */
static bool cut_file(char *said, char **path)
{
	char *at = strstr(said, CTF_OF_FILE), *end = at ? strrchr(at, '\'') : NULL;

	if (!at || end < at + sizeof(CTF_OF_FILE))
		return false;
	*path = at + strlen(CTF_OF_FILE);
	*end = 0;
	return true;
}

kymo_status_t ctf_try(struct ctf_reader *r)
{
	enum { TRIES = 64 };
	char said[2 * PATH_MAX], *path;
	int state = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		if (!try_once(r, &state, said, sizeof(said))) {
			stream_error(r->o->log, "%s: no process to read it in: %s", r->path,
				     strerror(errno));
			return KYMO_ERROR_SYSTEM;
		}
		if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
			return KYMO_OK;
		if (!WIFEXITED(state)) {
			stream_error(
				r->o->log,
				"%s: libbabeltrace2 fails on it (signal %d); the trace is damaged",
				r->path, WTERMSIG(state));
			return KYMO_ERROR_NOT_FOUND;
		}
		if (!cut_file(said, &path) || !ctf_leave_file(r, path))
			break;
		r->cut++;
		stream_warn(r->o->log, "%s: damaged: %s is cut, and nothing of it can be read",
			    r->path, strrchr(path, '/') + 1);
	}
	stream_error(r->o->log, "%s", said);
	return KYMO_ERROR_NOT_FOUND;
}

/* ---- classes and values ---------------------------------------------------------------------- */

struct ctf_class *ctf_class_get(struct ctf_reader *r, const bt_event_class *class, bool *fresh)
{
	uint64_t key = (uint64_t)(uintptr_t) class;
	struct ctf_class *c = (struct ctf_class *)(uintptr_t)map_get(&r->classes, key);

	*fresh = false;
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (c && !map_set(&r->classes, key, (uint64_t)(uintptr_t)c)) {
		free(c);
		c = NULL;
	}
	if (!c) {
		r->status = KYMO_ERROR_NO_MEMORY;
		r->done = true;
		return NULL;
	}
	*fresh = true;
	c->class = class;
	c->name = bt_event_class_get_name(class);
	c->name = c->name ? c->name : "";
	c->arguments = c->definition = c->list = -1;
	return c;
}

bool ctf_number(const bt_field *f, uint64_t *out)
{
	switch (f ? bt_field_get_class_type(f) : BT_FIELD_CLASS_TYPE_STRING) {
	case BT_FIELD_CLASS_TYPE_BOOL:
		*out = bt_field_bool_get_value(f) != BT_FALSE;
		return true;
	case BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER:
	case BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION:
		*out = bt_field_integer_unsigned_get_value(f);
		return true;
	case BT_FIELD_CLASS_TYPE_SIGNED_INTEGER:
	case BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION:
		*out = (uint64_t)bt_field_integer_signed_get_value(f);
		return true;
	default:
		return false;
	}
}

bool ctf_real(const bt_field *f, double *out)
{
	switch (f ? bt_field_get_class_type(f) : BT_FIELD_CLASS_TYPE_STRING) {
	case BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL:
		*out = (double)bt_field_real_single_precision_get_value(f);
		return true;
	case BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL:
		*out = bt_field_real_double_precision_get_value(f);
		return true;
	default:
		return false;
	}
}

const char *ctf_text(const bt_field *f)
{
	if (!f || bt_field_get_class_type(f) != BT_FIELD_CLASS_TYPE_STRING)
		return NULL;
	/* An empty one has the bytes of an earlier event, whose field this was. */
	return bt_field_string_get_length(f) ? bt_field_string_get_value(f) : "";
}

const bt_field *ctf_member(const bt_field *structure, const char *name)
{
	return structure ? bt_field_structure_borrow_member_field_by_name_const(structure, name)
			 : NULL;
}
