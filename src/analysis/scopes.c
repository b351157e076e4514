/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes and their paths; see scopes.h. */
#include "analysis/scopes.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "formats/raw/read.h"

#define DEPTH_MAX 512u /* of a path; what a sound trace cannot have */
#define UNKNOWN   1u   /* path of scopes whose record is missing */

/* An execution of a range. */
struct node {
	int64_t parent;
	uint32_t process, name;
	uint32_t path; /* 0: not yet known */
};

struct scopes {
	const struct trace *trace;
	uint32_t process_count;
	struct map *nodes;   /* by process: scope to node */
	struct map *submits; /* by process: id of a submitting call to its place in `within` */
	struct node *node;
	uint32_t node_count, node_room;
	int64_t *within; /* scopes of submitting calls */
	uint32_t within_count, within_room;
	struct map path_of; /* path above << 32 | name */
	struct path {
		char *text;
		uint32_t depth; /* names in it */
	} * paths;
	uint32_t path_count, path_room;
	uint32_t depth; /* most names of a path; 0: any */
	bool failed;
};

static uint32_t add_path(struct scopes *s, char *text, uint32_t depth)
{
	if (!text || !vec_reserve(&s->paths, &s->path_room, s->path_count, 1)) {
		free(text);
		s->failed = true;
		return UNKNOWN;
	}
	s->paths[s->path_count] = (struct path){text, depth};
	return s->path_count++;
}

/* ---- the pass ---------------------------------------------------------------------------------- */

struct look {
	struct stream_sink sink; /* first */
	struct scopes *scopes;
};

static kymo_status_t add_range(struct stream_sink *sink, const struct rec_marker *r)
{
	struct scopes *s = ((struct look *)(void *)sink)->scopes;
	uint32_t p = r->base.process;

	if (!r->scope || p >= s->process_count)
		return KYMO_OK;
	if (!vec_reserve(&s->node, &s->node_room, s->node_count, 1) ||
	    !map_set(&s->nodes[p], (uint64_t)r->scope, s->node_count))
		return KYMO_ERROR_NO_MEMORY;
	s->node[s->node_count++] = (struct node){r->base.scope, p, r->name, 0};
	return KYMO_OK;
}

static kymo_status_t add_submit(struct stream_sink *sink, const struct rec *r)
{
	struct scopes *s = ((struct look *)(void *)sink)->scopes;

	if (!r->scope || !(s->trace->ops[r->op].flags & KYMO_OP_SUBMITS) ||
	    r->process >= s->process_count)
		return KYMO_OK;
	if (!vec_reserve(&s->within, &s->within_room, s->within_count, 1) ||
	    !map_set(&s->submits[r->process], r->id, s->within_count))
		return KYMO_ERROR_NO_MEMORY;
	s->within[s->within_count++] = r->scope;
	return KYMO_OK;
}

static bool wants(const struct trace *t, const struct t_op *op)
{
	return op->flags & KYMO_OP_SUBMITS || strcmp(t->domains[op->domain].name, "marker") == 0;
}

struct scopes *scopes_new(struct raw_trace *rt, uint32_t depth)
{
	struct scopes *s = calloc(1, sizeof(*s));
	struct look look = {{.call = add_submit, .marker = add_range, .brief = true}, s};

	if (!s)
		return NULL;
	s->trace = raw_trace_definitions(rt);
	s->depth = depth;
	s->process_count = s->trace->processes_count;
	s->nodes = calloc(s->process_count, sizeof(*s->nodes));
	s->submits = calloc(s->process_count, sizeof(*s->submits));
	/* Index 0 of each is "none". */
	s->failed = !s->nodes || !s->submits || !vec_reserve(&s->node, &s->node_room, 0, 1) ||
		    !vec_reserve(&s->within, &s->within_room, 0, 1);
	s->node_count = s->within_count = 1;
	add_path(s, strdup(""), 0);
	add_path(s, strdup("(not recorded)"), 1);
	if (!s->failed && raw_trace_look(rt, wants, &look.sink) == KYMO_OK)
		return s;
	scopes_free(s);
	return NULL;
}

void scopes_free(struct scopes *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->nodes && i < s->process_count; i++)
		map_release(&s->nodes[i]);
	for (uint32_t i = 0; s->submits && i < s->process_count; i++)
		map_release(&s->submits[i]);
	for (uint32_t i = 0; i < s->path_count; i++)
		free(s->paths[i].text);
	map_release(&s->path_of);
	free(s->nodes);
	free(s->submits);
	free(s->node);
	free(s->within);
	free(s->paths);
	free(s);
}

/* ---- paths ------------------------------------------------------------------------------------- */

static uint32_t path_below(struct scopes *s, uint32_t above, uint32_t name)
{
	uint64_t key = (uint64_t)above << 32 | name;
	uint32_t path = map_get(&s->path_of, key);
	const char *text = name ? s->trace->strings[name].text : "(no name)";
	size_t a, b;
	char *whole;

	if (path)
		return path;
	if (s->depth && s->paths[above].depth >= s->depth)
		return above;
	a = strlen(s->paths[above].text);
	b = strlen(text);
	whole = malloc(a + b + 2);
	if (whole) {
		memcpy(whole, s->paths[above].text, a);
		whole[a] = '/';
		memcpy(whole + a + (a != 0), text, b + 1);
	}
	path = add_path(s, whole, s->paths[above].depth + 1);
	if (!map_set(&s->path_of, key, path))
		s->failed = true;
	return path;
}

static uint32_t path_at(struct scopes *s, uint32_t process, int64_t scope, uint32_t depth)
{
	uint32_t i, above;

	if (!scope)
		return 0;
	i = process < s->process_count ? map_get(&s->nodes[process], (uint64_t)scope) : 0;
	if (!i || depth == DEPTH_MAX)
		return UNKNOWN;
	if (!s->node[i].path) {
		s->node[i].path = UNKNOWN; /* ends a cycle, which only a damaged trace has */
		above = path_at(s, process, s->node[i].parent, depth + 1);
		s->node[i].path = path_below(s, above, s->node[i].name);
	}
	return s->node[i].path;
}

uint32_t scopes_path(struct scopes *s, uint32_t process, int64_t scope)
{
	return path_at(s, process, scope, 0);
}

uint32_t scopes_path_of_call(struct scopes *s, uint32_t process, uint64_t call)
{
	uint32_t i = process < s->process_count ? map_get(&s->submits[process], call) : 0;

	return i ? scopes_path(s, process, s->within[i]) : 0;
}

const char *scopes_text(const struct scopes *s, uint32_t path)
{
	return path && path < s->path_count ? s->paths[path].text : "(no scope)";
}
