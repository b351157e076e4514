/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of metric files: YAML, of which each mapping has a table of its keys here. share/kymo/metrics.schema.json says
 * the same to other programs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/file.h"
#include "base/vec.h"
#include "metrics/metrics.h"
#include "metrics/parts.h"

enum { FILE_MOST = 1 << 20 };

struct reader {
	yaml_document_t document;
	const char *file;
	const char *metric; /* that is being read */
	uint8_t *visited;   /* nodes, by their index */
	char *error;
	size_t size;
};

/* A key of a mapping: how its value is read, and where to. */
struct key {
	const char *name;
	bool required;
	bool (*read)(struct reader *r, const yaml_node_t *node, void *into);
	size_t offset;
};

__attribute__((format(printf, 3, 4))) static bool fail(struct reader *r, const yaml_node_t *node,
						       const char *format, ...)
{
	unsigned long line = node ? (unsigned long)node->start_mark.line + 1 : 1;
	int n = snprintf(r->error, r->size, "%s:%lu: %s%s%s", r->file, line,
			 r->metric ? "metric " : "", r->metric ? r->metric : "",
			 r->metric ? ": " : "");
	va_list list;

	va_start(list, format);
	if (n >= 0 && (size_t)n < r->size)
		vsnprintf(r->error + n, r->size - (size_t)n, format, list);
	va_end(list);
	return false;
}

/* ---- values ------------------------------------------------------------------------------------ */

static const char *scalar(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static bool read_text(struct reader *r, const yaml_node_t *node, void *into)
{
	const char *s = scalar(node);
	char **out = into;

	if (!s || !*s || strlen(s) != node->data.scalar.length)
		return fail(r, node, "a text is wanted here");
	*out = strdup(s);
	return *out || fail(r, node, "there is no memory");
}

static bool read_number(struct reader *r, const yaml_node_t *node, void *into)
{
	const char *s = scalar(node);
	unsigned *out = into;
	char *end = NULL;
	unsigned long v = s && *s >= '0' && *s <= '9' ? strtoul(s, &end, 10) : 0;

	if (!end || *end || v > 9999)
		return fail(r, node, "a number from 0 to 9999 is wanted here");
	*out = (unsigned)v;
	return true;
}

static bool read_flag(struct reader *r, const yaml_node_t *node, void *into)
{
	const char *s = scalar(node);
	bool *out = into;

	if (!s || (strcmp(s, "true") != 0 && strcmp(s, "false") != 0))
		return fail(r, node, "true or false is wanted here");
	*out = *s == 't';
	return true;
}

static bool read_word(struct reader *r, const yaml_node_t *node, const char *const *words,
		      unsigned count, unsigned *out)
{
	const char *s = scalar(node);
	struct text all = {0};

	for (unsigned i = 0; i < count; i++) {
		if (s && strcmp(s, words[i]) == 0) {
			text_release(&all);
			*out = i;
			return true;
		}
		text_addf(&all, "%s%s", i ? ", " : "", words[i]);
	}
	fail(r, node, "\"%.40s\" is none of %s", s ? s : "", all.s ? all.s : "");
	text_release(&all);
	return false;
}

static bool read_class(struct reader *r, const yaml_node_t *node, void *into)
{
	return read_word(r, node, device_class_names, DEVICE_CLASSES, into);
}

static bool read_style(struct reader *r, const yaml_node_t *node, void *into)
{
	return read_word(r, node, metric_style_names, METRIC_STYLES, into);
}

static bool read_expression(struct reader *r, const yaml_node_t *node, void *into)
{
	static const struct expression_rules rules = {
		.names = EXPRESSION_NAMES, .steps = EXPRESSION_STEPS, .rows = true};
	struct metric_expression *out = into;
	char why[200];

	if (!read_text(r, node, &out->text))
		return false;
	out->line = (uint32_t)node->start_mark.line + 1;
	return expression_parse(&out->e, out->text, &rules, why, sizeof(why)) ||
	       fail(r, node, "%s", why);
}

/* ---- mappings and lists -------------------------------------------------------------------------- */

static yaml_node_t *node_of(struct reader *r, int index)
{
	return yaml_document_get_node(&r->document, index);
}

static const struct key *key_of(const struct key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (name && strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

static bool fail_key(struct reader *r, const yaml_node_t *node, const struct key *keys)
{
	struct text all = {0};
	const char *name = scalar(node);

	for (; keys->name; keys++)
		text_addf(&all, "%s%s", all.length ? ", " : "", keys->name);
	fail(r, node, "there is no key \"%.40s\" here, but: %s", name ? name : "",
	     all.s ? all.s : "");
	text_release(&all);
	return false;
}

/* Nodes that are referred to again (aliases) would be read again: a short file could be endless. */
static bool visit(struct reader *r, const yaml_node_t *node)
{
	uint8_t *seen = &r->visited[node - r->document.nodes.start];

	if (*seen)
		return fail(r, node, "aliases are not taken here");
	*seen = 1;
	return true;
}

static bool read_mapping(struct reader *r, const yaml_node_t *node, const struct key *keys,
			 void *into)
{
	uint32_t seen = 0;

	if (node->type != YAML_MAPPING_NODE)
		return fail(r, node, "a mapping (key: value) is wanted here");
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		yaml_node_t *name = node_of(r, p->key), *value = node_of(r, p->value);
		const struct key *k = key_of(keys, scalar(name));

		if (!k)
			return fail_key(r, name, keys);
		if (seen & 1u << (k - keys))
			return fail(r, name, "%s is there twice", k->name);
		seen |= 1u << (k - keys);
		if (!visit(r, value) || !k->read(r, value, (char *)into + k->offset))
			return false;
	}
	for (unsigned i = 0; keys[i].name; i++)
		if (keys[i].required && !(seen & 1u << i))
			return fail(r, node, "%s is missing", keys[i].name);
	return true;
}

/* A list whose elements `read` takes; `add` makes room for one more. */
static bool read_list(struct reader *r, const yaml_node_t *node, void *list,
		      void *(*add)(void *list),
		      bool (*read)(struct reader *r, const yaml_node_t *node, void *into))
{
	if (node->type != YAML_SEQUENCE_NODE)
		return fail(r, node, "a list (- ...) is wanted here");
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top; i++) {
		yaml_node_t *item = node_of(r, *i);
		void *into;

		if (!visit(r, item))
			return false;
		into = add(list);
		if (!into)
			return fail(r, item, "there is no memory");
		if (!read(r, item, into))
			return false;
	}
	return true;
}

/* NAME_add(list): a new element, all zero. */
#define ADD(name, type, list_type)                                                                 \
	static void *name(void *to)                                                                \
	{                                                                                          \
		list_type *l = to;                                                                 \
                                                                                                   \
		if (!vec_reserve(&l->at, &l->room, l->count, 1))                                   \
			return NULL;                                                               \
		l->at[l->count] = (type){0};                                                       \
		return &l->at[l->count++];                                                         \
	}

typedef char *owned_text;

ADD(add_text, owned_text, struct metric_texts)
ADD(add_formula, struct metric_formula, struct metric_formulas)
ADD(add_metric, struct metric, struct metric_list)
ADD(add_table, struct metric_table, struct metric_table_list)
ADD(add_panel, struct metric_panel, struct metric_panel_list)
ADD(add_variable, struct metric_variable, struct metric_variable_list)

static bool read_texts(struct reader *r, const yaml_node_t *node, void *into)
{
	return read_list(r, node, into, add_text, read_text);
}

/* ---- what a file has ------------------------------------------------------------------------------ */

static bool read_formula(struct reader *r, const yaml_node_t *node, void *into)
{
#define AT(member) offsetof(struct metric_formula, member)
	static const struct key keys[] = {{"for", true, read_class, AT(device)},
					  {"value", false, read_expression, AT(value)},
					  {"each", false, read_expression, AT(each)},
					  {"peak", false, read_expression, AT(peak)},
					  {"none", false, read_text, AT(none)},
					  {"source", false, read_text, AT(source)},
					  {"unproven", false, read_flag, AT(unproven)},
					  {NULL, false, NULL, 0}};
#undef AT
	struct metric_formula *f = into;

	if (!read_mapping(r, node, keys, f))
		return false;
	if (!f->none == !(f->value.text || f->each.text))
		return fail(r, node, "a formula has a value (or each), or says why there is none");
	return true;
}

/* A metric's is one number. */
static bool read_metric_formula(struct reader *r, const yaml_node_t *node, void *into)
{
	const struct metric_formula *f = into;

	if (!read_formula(r, node, into))
		return false;
	if (f->value.text && !f->value.e.reduced)
		return fail(r, node,
			    "value is a number for each dispatch: SUM(), AVG() or another function "
			    "over them makes it one, or it is `each`");
	if (f->each.text && f->each.e.reduced && f->each.e.name_count)
		return fail(r, node, "each is one number for all dispatches: that is a value");
	return true;
}

static bool read_variable_formula(struct reader *r, const yaml_node_t *node, void *into)
{
	const struct metric_formula *f = into;

	if (!read_formula(r, node, into))
		return false;
	return (!f->each.text && !f->peak.text) || fail(r, node, "a variable has a value alone");
}

static bool read_metric_formulas(struct reader *r, const yaml_node_t *node, void *into)
{
	return read_list(r, node, into, add_formula, read_metric_formula);
}

static bool read_variable_formulas(struct reader *r, const yaml_node_t *node, void *into)
{
	return read_list(r, node, into, add_formula, read_variable_formula);
}

/* For messages, before anything else of it is read. */
static const char *name_of(struct reader *r, const yaml_node_t *node)
{
	if (node->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		const char *key = scalar(node_of(r, p->key));

		if (key && strcmp(key, "name") == 0)
			return scalar(node_of(r, p->value));
	}
	return NULL;
}

static bool read_metric(struct reader *r, const yaml_node_t *node, void *into)
{
#define AT(member) offsetof(struct metric, member)
	static const struct key keys[] = {{"id", true, read_number, AT(id)},
					  {"name", true, read_text, AT(name)},
					  {"unit", false, read_text, AT(unit)},
					  {"description", false, read_text, AT(description)},
					  {"covers", false, read_texts, AT(covers)},
					  {"formulas", true, read_metric_formulas, AT(formulas)},
					  {NULL, false, NULL, 0}};
#undef AT
	bool good;

	r->metric = name_of(r, node);
	good = read_mapping(r, node, keys, into);
	r->metric = NULL;
	return good;
}

/* No two of a list have one id. */
#define UNIQUE(r, node, list, what)                                                                \
	for (uint32_t i = 0; i < (list).count; i++)                                                \
		for (uint32_t k = 0; k < i; k++)                                                   \
			if ((list).at[i].id == (list).at[k].id)                                    \
	return fail(r, node, what " %u is there twice", (list).at[i].id)

static bool read_metrics(struct reader *r, const yaml_node_t *node, void *into)
{
	const struct metric_list *l = into;

	if (!read_list(r, node, into, add_metric, read_metric))
		return false;
	UNIQUE(r, node, *l, "metric");
	return true;
}

static bool read_table(struct reader *r, const yaml_node_t *node, void *into)
{
#define AT(member) offsetof(struct metric_table, member)
	static const struct key keys[] = {{"id", true, read_number, AT(id)},
					  {"title", true, read_text, AT(title)},
					  {"style", false, read_style, AT(style)},
					  {"covers", false, read_texts, AT(covers)},
					  {"metrics", false, read_metrics, AT(metrics)},
					  {NULL, false, NULL, 0}};
#undef AT

	struct metric_table *t = into;

	t->line = (uint32_t)node->start_mark.line + 1;
	if (!read_mapping(r, node, keys, into))
		return false;
	if (!t->metrics.count && (t->style < METRIC_KERNELS))
		return fail(r, node, "metrics are missing: the table \"%.60s\" would be empty",
			    t->title);
	return true;
}

static bool read_tables(struct reader *r, const yaml_node_t *node, void *into)
{
	const struct metric_table_list *l = into;

	if (!read_list(r, node, into, add_table, read_table))
		return false;
	UNIQUE(r, node, *l, "table");
	return true;
}

static bool read_panel(struct reader *r, const yaml_node_t *node, void *into)
{
#define AT(member) offsetof(struct metric_panel, member)
	static const struct key keys[] = {{"id", true, read_number, AT(id)},
					  {"title", true, read_text, AT(title)},
					  {"description", false, read_text, AT(description)},
					  {"tables", true, read_tables, AT(tables)},
					  {NULL, false, NULL, 0}};
#undef AT

	return read_mapping(r, node, keys, into);
}

static bool read_variable(struct reader *r, const yaml_node_t *node, void *into)
{
#define AT(member) offsetof(struct metric_variable, member)
	static const struct key keys[] = {{"name", true, read_text, AT(name)},
					  {"unit", false, read_text, AT(unit)},
					  {"description", false, read_text, AT(description)},
					  {"formulas", true, read_variable_formulas, AT(formulas)},
					  {NULL, false, NULL, 0}};
#undef AT

	return read_mapping(r, node, keys, into);
}

static bool read_panels(struct reader *r, const yaml_node_t *node, void *into)
{
	const struct metric_panel_list *l = into;

	if (!read_list(r, node, into, add_panel, read_panel))
		return false;
	UNIQUE(r, node, *l, "panel");
	return true;
}

static bool read_variables(struct reader *r, const yaml_node_t *node, void *into)
{
	return read_list(r, node, into, add_variable, read_variable);
}

static bool read_root(struct reader *r, struct metric_set *into)
{
#define AT(member) offsetof(struct metric_set, member)
	static const struct key keys[] = {{"panels", false, read_panels, AT(panels)},
					  {"variables", false, read_variables, AT(variables)},
					  {NULL, false, NULL, 0}};
#undef AT
	const yaml_node_t *root = yaml_document_get_root_node(&r->document);

	if (!root)
		return fail(r, NULL, "there is nothing in it: panels or variables are wanted");
	return visit(r, root) && read_mapping(r, root, keys, into);
}

static bool read_document(struct reader *r, yaml_parser_t *parser, struct metric_set *into)
{
	bool good;

	if (!yaml_parser_load(parser, &r->document)) {
		unsigned long line = (unsigned long)parser->problem_mark.line + 1;

		snprintf(r->error, r->size, "%s:%lu: this is no YAML: %s", r->file, line,
			 parser->problem ? parser->problem : "there is no memory");
		return false;
	}
	r->visited = calloc((size_t)(r->document.nodes.top - r->document.nodes.start) + 1, 1);
	good = r->visited ? read_root(r, into) : fail(r, NULL, "there is no memory");
	free(r->visited);
	yaml_document_delete(&r->document);
	return good;
}

static bool is_own(const char *file)
{
	for (const struct metric_file *f = metric_files; f->name; f++)
		if (f->name == file)
			return true;
	return false;
}

/* Styles that the report makes by itself go with Kymo's own tables: others may only take the place of one. */
static bool check_styles(struct reader *r, const struct metric_set *set,
			 const struct metric_set *more)
{
	for (uint32_t i = 0; i < more->panels.count; i++)
		for (uint32_t k = 0; k < more->panels.at[i].tables.count; k++) {
			const struct metric_table *t = &more->panels.at[i].tables.at[k];
			const struct metric_table *own =
				metric_table_find(set, more->panels.at[i].id, t->id);

			if (t->style == METRIC_TABLE || t->style == METRIC_BARS ||
			    t->style == METRIC_DEVICE || (own && own->style == t->style))
				continue;
			snprintf(r->error, r->size,
				 "%s:%u: table \"%.60s\": style %s is of a table of Kymo's own, "
				 "and %u.%u "
				 "is none; table, bars and device are for all",
				 r->file, t->line, t->title, metric_style_names[t->style],
				 more->panels.at[i].id, t->id);
			return false;
		}
	return true;
}

enum variable_mark { MARK_NEW, MARK_OPEN, MARK_DONE };

/* Whether the variable is made of itself, by way of others: `at` is the one whose formula closes the circle. */
static bool is_circle(const struct metric_set *set, uint32_t v, uint8_t *marks, uint32_t *line)
{
	const struct metric_formulas *l = &set->variables.at[v].formulas;
	bool found = false;

	marks[v] = MARK_OPEN;
	for (uint32_t f = 0; !found && f < l->count; f++)
		for (unsigned i = 0; !found && i < l->at[f].value.e.variable_count; i++) {
			const struct metric_variable *w =
				metric_variable_find(set, l->at[f].value.e.variables[i]);
			const uint32_t to = w ? (uint32_t)(w - set->variables.at) : v;

			found = w && (marks[to] == MARK_OPEN ||
				      (marks[to] == MARK_NEW && is_circle(set, to, marks, line)));
			*line = found ? l->at[f].value.line : *line;
		}
	marks[v] = found ? MARK_OPEN : MARK_DONE;
	return found;
}

static bool check_circles(struct reader *r, const struct metric_set *set)
{
	uint8_t *marks = calloc(set->variables.count + 1u, 1);
	bool good = marks != NULL;
	uint32_t line = 1;

	for (uint32_t i = 0; good && i < set->variables.count; i++)
		if (marks[i] == MARK_NEW && is_circle(set, i, marks, &line)) {
			snprintf(r->error, r->size,
				 "%s:%u: variable %.60s is made of itself, by way of its formula "
				 "or others'",
				 r->file, line, set->variables.at[i].name);
			good = false;
		}
	if (!marks)
		fail(r, NULL, "there is no memory");
	free(marks);
	return good;
}

bool metric_set_add(struct metric_set *set, const char *file, const char *text, size_t length,
		    char *error, size_t size)
{
	struct reader r = {.file = file, .error = error, .size = size};
	struct metric_set more = {0};
	yaml_parser_t parser;
	bool good;

	if (!yaml_parser_initialize(&parser)) {
		snprintf(error, size, "%s: there is no memory", file);
		return false;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	good = read_document(&r, &parser, &more);
	yaml_parser_delete(&parser);
	good = good && (is_own(file) || check_styles(&r, set, &more));
	if (good && !metric_set_merge(set, &more)) {
		snprintf(error, size, "%s: there is no memory", file);
		good = false;
	}
	good = good && check_circles(&r, set);
	metric_set_release(&more);
	return good;
}

bool metric_set_read(struct metric_set *set, const char *path, char *error, size_t size)
{
	char *text;
	bool good;

	for (const struct metric_file *f = metric_files; f->name; f++)
		if (!metric_set_add(set, f->name, f->text, strlen(f->text), error, size))
			return false;
	if (!path)
		return true;
	text = file_read_limited(path, FILE_MOST);
	if (!text) {
		snprintf(error, size, "%s cannot be read: %s", path, strerror(errno));
		return false;
	}
	good = metric_set_add(set, path, text, strlen(text), error, size);
	free(text);
	return good;
}
