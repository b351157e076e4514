/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of ROCpd and the statements that make them; see schema.h. */
#include "formats/rocpd/schema.h"

#include <stdlib.h>
#include <string.h>

/*
 * A table: columns as "NAME TYPE ...", separated by commas, between its id and guid, which all but one
 * have, and extdata. A column that refers to another table says so with "> TABLE" at its end. What came
 * after version 3.0.0 begins with "+x": it is there from 3.0.x on.
 */
struct table {
	const char *name;
	const char *columns;
	const char
		*extdata; /* what its type says beyond the default; NULL: it has no such column */
	unsigned since;
};

#define NN    " NOT NULL"
#define NODE  "nid INTEGER" NN " > info_node"
#define OWNED NODE ", pid INTEGER" NN " > info_process"
#define SPAN  "start BIGINT" NN ", end BIGINT" NN
#define ANY   ""

static const struct table tables[] = {
	{"string", "string TEXT" NN " UNIQUE ON CONFLICT ABORT", NULL, 0},
	{"info_node",
	 "hash BIGINT" NN " UNIQUE, machine_id TEXT" NN " UNIQUE, system_name TEXT, hostname TEXT, "
	 "release TEXT, version TEXT, hardware_name TEXT, domain_name TEXT",
	 NULL, 0},
	{"info_process",
	 NODE ", ppid INTEGER, pid INTEGER" NN ", init BIGINT, fini BIGINT, start BIGINT, "
	      "end BIGINT, command TEXT, environment JSONB DEFAULT '{}'" NN,
	 NN, 0},
	{"info_thread",
	 NODE ", ppid INTEGER, pid INTEGER" NN " > info_process, tid INTEGER" NN ", name TEXT, "
	      "start BIGINT, end BIGINT",
	 NN, 0},
	{"info_agent",
	 OWNED ", type TEXT CHECK (type IN ($agents)), absolute_index INTEGER, "
	       "logical_index INTEGER, type_index INTEGER, uuid INTEGER, name TEXT, "
	       "model_name TEXT, vendor_name TEXT, product_name TEXT, user_name TEXT",
	 NN, 0},
	{"info_queue", OWNED ", name TEXT", NN, 0},
	{"info_stream", OWNED ", name TEXT", NN, 0},
	{"info_pmc",
	 OWNED ", agent_id INTEGER > info_agent, target_arch TEXT CHECK (target_arch IN "
	       "($agents)), event_code INT, instance_id INTEGER, name TEXT" NN ", symbol TEXT" NN
	       ", description TEXT, long_description TEXT DEFAULT '', component TEXT, units TEXT "
	       "DEFAULT '', value_type TEXT CHECK (value_type IN ('ABS'; 'ACCUM'; 'RELATIVE')), "
	       "block TEXT, expression TEXT, is_constant INTEGER, is_derived INTEGER, "
	       "+3 spm_support INTEGER",
	 NN, 0},
	{"info_code_object",
	 OWNED ", agent_id INTEGER > info_agent, uri TEXT, load_base BIGINT, load_size BIGINT, "
	       "load_delta BIGINT, storage_type TEXT CHECK (storage_type IN ('FILE'; 'MEMORY'))",
	 NN, 0},
	{"info_kernel_symbol",
	 OWNED ", code_object_id INTEGER" NN " > info_code_object, kernel_name TEXT, display_name "
	       "TEXT, kernel_object INTEGER, kernarg_segment_size INTEGER, "
	       "kernarg_segment_alignment INTEGER, group_segment_size INTEGER, "
	       "private_segment_size INTEGER, sgpr_count INTEGER, arch_vgpr_count INTEGER, "
	       "accum_vgpr_count INTEGER",
	 NN, 0},
	{"track",
	 NODE ", pid INTEGER > info_process, tid INTEGER > info_thread, name_id INTEGER > string",
	 NN, 0},
	{"event",
	 "category_id INTEGER > string, stack_id INTEGER, parent_stack_id INTEGER, "
	 "correlation_id INTEGER, call_stack JSONB DEFAULT '{}'" NN
	 ", line_info JSONB DEFAULT '{}'" NN,
	 NN, 0},
	{"arg",
	 "event_id INTEGER" NN " > event, position INTEGER" NN ", type TEXT" NN ", name TEXT" NN
	 ", value TEXT",
	 NN, 0},
	{"pmc_event",
	 "event_id INTEGER > event, pmc_id INTEGER" NN " > info_pmc, value REAL DEFAULT 0.0, "
	 "+3 sample_id INTEGER > sample, +3 xcc INTEGER, +3 shader_engine INTEGER, "
	 "+3 instance INTEGER",
	 ANY, 0},
	{"region",
	 OWNED ", tid INTEGER" NN " > info_thread, " SPAN ", name_id INTEGER" NN
	       " > string, event_id INTEGER > event",
	 NN, 0},
	{"sample",
	 "track_id INTEGER" NN " > track, timestamp BIGINT" NN ", event_id INTEGER > event", NN, 0},
	{"kernel_dispatch",
	 OWNED ", tid INTEGER > info_thread, agent_id INTEGER" NN " > info_agent, kernel_id "
	       "INTEGER" NN " > info_kernel_symbol, dispatch_id INTEGER" NN ", queue_id INTEGER" NN
	       " > info_queue, stream_id INTEGER" NN " > info_stream, " SPAN
	       ", private_segment_size INTEGER, group_segment_size INTEGER, workgroup_size_x "
	       "INTEGER" NN ", workgroup_size_y INTEGER" NN ", workgroup_size_z INTEGER" NN
	       ", grid_size_x INTEGER" NN ", grid_size_y INTEGER" NN ", grid_size_z INTEGER" NN
	       ", +2 graph_exec_id INTEGER" NN " DEFAULT 0, +2 graph_node_id INTEGER" NN
	       " DEFAULT 0, region_name_id INTEGER > string, event_id INTEGER > event",
	 NN, 0},
	{"memory_copy",
	 OWNED
	 ", tid INTEGER > info_thread, " SPAN ", name_id INTEGER" NN
	 " > string, dst_agent_id INTEGER > info_agent, dst_address INTEGER, src_agent_id INTEGER "
	 "> info_agent, src_address INTEGER, size INTEGER" NN ", queue_id INTEGER > info_queue, "
	 "stream_id INTEGER > info_stream, +2 graph_exec_id INTEGER" NN
	 " DEFAULT 0, +2 graph_node_id INTEGER" NN
	 " DEFAULT 0, region_name_id INTEGER > string, event_id INTEGER > event",
	 NN, 0},
	{"memory_allocate",
	 OWNED ", tid INTEGER > info_thread, agent_id INTEGER > info_agent, type TEXT CHECK (type "
	       "IN ('ALLOC'; 'FREE'; 'REALLOC'; 'RECLAIM')), level TEXT CHECK (level IN ('REAL'; "
	       "'VIRTUAL'; 'SCRATCH')), " SPAN ", address INTEGER, size INTEGER" NN
	       ", queue_id INTEGER > info_queue, stream_id INTEGER > info_stream, event_id INTEGER "
	       "> event",
	 NN, 0},
	{"graph_launch",
	 OWNED ", tid INTEGER > info_thread, agent_id INTEGER > info_agent, queue_id INTEGER > "
	       "info_queue, " SPAN ", graph_exec_id INTEGER" NN " DEFAULT 0, kernel_dispatch_count "
	       "INTEGER, event_id INTEGER > event",
	 NN, 2},
};

bool rocpd_schema_parse(const char *text, struct rocpd_schema *s)
{
	*s = (struct rocpd_schema){.plain = true};
	if (strcmp(text, "3") == 0)
		return true;
	if (strncmp(text, "3.0.", 4) != 0 || text[4] < '0' || text[4] > '3' || text[5])
		return false;
	s->version = (unsigned)(text[4] - '0');
	s->plain = s->version == 0;
	return true;
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* A definition as written above; ';' stands for the commas inside of it. */
static void add_definition(struct text *out, const struct rocpd_schema *s, const char *p, size_t n)
{
	const char *space = memchr(p, ' ', n);
	size_t name = space ? (size_t)(space - p) : n;

	text_addf(out, ",\n\t\"%.*s\"", (int)name, p);
	for (size_t i = name; i < n; i++) {
		if (strncmp(p + i, "$agents", 7) == 0) {
			text_add(out, s->version >= 1 ? "'CPU', 'GPU', 'NIC'" : "'CPU', 'GPU'");
			i += 6;
		} else {
			text_add_bytes(out, p[i] == ';' ? "," : p + i, 1);
		}
	}
}

/* The next definition of a table in this version: *p is set behind it. */
static const char *next_column(const struct rocpd_schema *s, const char **p, size_t *length)
{
	while (**p) {
		const char *begin = *p, *comma = strchr(begin, ',');
		size_t n = comma ? (size_t)(comma - begin) : strlen(begin);
		unsigned since = 0;

		*p = comma ? comma + 2 : begin + n;
		if (*begin == '+') {
			since = (unsigned)(begin[1] - '0');
			begin += 3;
			n -= 3;
		}
		*length = n;
		if (since <= s->version)
			return begin;
	}
	return NULL;
}

static const char *find_target(const char *column, size_t n)
{
	const char *arrow = memchr(column, '>', n);

	return arrow ? arrow + 2 : NULL;
}

static void add_columns(struct text *out, const struct rocpd_schema *s, const struct table *t)
{
	const char *p = t->columns, *column;
	size_t n;

	while ((column = next_column(s, &p, &n))) {
		const char *target = find_target(column, n);

		add_definition(out, s, column, target ? (size_t)(target - column) - 3 : n);
	}
	if (t->extdata)
		text_addf(out, ",\n\t\"extdata\" JSONB DEFAULT '{}'%s", t->extdata);
}

static void add_keys(struct text *out, const struct rocpd_schema *s, const struct table *t,
		     const char *suffix)
{
	const char *p = t->columns, *column;
	size_t n;

	while ((column = next_column(s, &p, &n))) {
		const char *target = find_target(column, n);

		if (target)
			text_addf(out,
				  ",\n\tFOREIGN KEY (%.*s) REFERENCES \"rocpd_%.*s%s\" (id) ON "
				  "UPDATE CASCADE",
				  (int)strcspn(column, " "), column, (int)(column + n - target),
				  target, suffix);
	}
}

static void add_metadata(struct text *out, const struct rocpd_schema *s, const char *guid,
			 const char *suffix)
{
	text_addf(out,
		  "CREATE TABLE \"rocpd_metadata%s\" (\n\t\"id\" INTEGER" NN
		  " PRIMARY KEY AUTOINCREMENT,\n\t\"tag\" TEXT" NN ",\n\t\"value\" TEXT" NN ");\n"
		  "INSERT INTO \"rocpd_metadata%s\" (tag, value) VALUES ",
		  suffix, suffix);
	if (s->plain)
		text_add(out, "('schema_version', '3')");
	else
		text_addf(out,
			  "('schema_version', '3.0.%u'), ('schema_version_major', '3'), "
			  "('schema_version_minor', '0'), ('schema_version_patch', '%u')",
			  s->version, s->version);
	text_addf(out, ", ('uuid', '%s'), ('guid', '%s');\n", suffix, guid);
}

void rocpd_schema_tables(struct text *out, const struct rocpd_schema *s, const char *guid,
			 const char *suffix)
{
	add_metadata(out, s, guid, suffix);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		if (tables[i].since > s->version)
			continue;
		text_addf(out,
			  "CREATE TABLE \"rocpd_%s%s\" (\n\t\"id\" INTEGER" NN
			  " PRIMARY KEY AUTOINCREMENT,\n\t\"guid\" TEXT DEFAULT '%s'" NN,
			  tables[i].name, suffix, guid);
		add_columns(out, s, &tables[i]);
		add_keys(out, s, &tables[i], suffix);
		text_add(out, ");\n");
	}
}

/* ---- views ------------------------------------------------------------------------------------- */

static void add_base_view(struct text *out, const char *name, const char *const *suffixes,
			  uint32_t count)
{
	text_addf(out, "CREATE VIEW \"rocpd_%s\" AS", name);
	for (uint32_t i = 0; i < count; i++)
		text_addf(out, "%s SELECT * FROM \"rocpd_%s%s\"", i ? " UNION ALL" : "", name,
			  suffixes[i]);
	text_add(out, ";\n");
}

void rocpd_schema_views(struct text *out, const struct rocpd_schema *s, const char *const *suffixes,
			uint32_t count)
{
	add_base_view(out, "metadata", suffixes, count);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		if (tables[i].since <= s->version)
			add_base_view(out, tables[i].name, suffixes, count);
	}
	for (const struct rocpd_view *v = rocpd_views; v->name; v++) {
		if (v->since <= s->version)
			text_addf(out, "CREATE VIEW \"%s\" AS %s;\n", v->name, v->select);
	}
}
