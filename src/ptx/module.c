/* SPDX-License-Identifier: Apache-2.0 */
/* See module.h. */
#include "ptx/module.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define LENGTH_MAX (512u << 20)

static const char no_memory[] = "there was no memory for it";
static const char unreadable[] = "its PTX cannot be read";

/* ---- one item ---- */

static bool is(const struct ptx_module *m, struct ptx_word w, const char *text)
{
	return ptx_word_is(m->text, w, text);
}

/* From a point on: ".visible". */
static struct ptx_word keyword_at(const struct ptx_module *m, uint32_t at)
{
	struct ptx_word w = {at, 1};

	while (at + w.length < m->length && ptx_named(m->text[at + w.length]))
		w.length++;
	return w;
}

static uint32_t blanks(const struct ptx_module *m, uint32_t at)
{
	while (at < m->length && isspace((unsigned char)m->text[at]))
		at++;
	return at;
}

static uint32_t end_of_line(const struct ptx_module *m, uint32_t at)
{
	while (at < m->length && m->text[at] != '\n')
		at++;
	return at;
}

/* The first of some characters that is in no brackets; 0: there is none. */
static uint32_t find(const struct ptx_module *m, uint32_t at, const char *marks)
{
	while (at < m->length && !strchr(marks, m->text[at])) {
		if (strchr("([{", m->text[at]))
			at = ptx_closing(m->text, at, m->length);
		else if (isspace((unsigned char)m->text[at]))
			at++;
		else
			ptx_word_next(m->text, &at, m->length);
		if (!at)
			return 0;
	}
	return at < m->length ? at : 0;
}

/* Of a function, whose results may stand in front of its name. */
static bool read_function(struct ptx_module *m, struct ptx_item *i, uint32_t at)
{
	at = blanks(m, at);
	if (at < m->length && m->text[at] == '(')
		at = ptx_closing(m->text, at, m->length);
	if (!at)
		return false;
	i->name = ptx_word_next(m->text, &at, m->length);
	at = find(m, at, "{;");
	if (!at || !i->name.length || !ptx_named(m->text[i->name.at]))
		return false;
	i->end = at + 1;
	if (m->text[at] == '{') {
		i->body = at;
		i->end = ptx_closing(m->text, at, m->length);
	}
	return i->end != 0;
}

/* ".global .align 4 .u32 name[5] = {...};": the name is the last word in front of [ = ; that is no keyword's. */
static bool read_variable(struct ptx_module *m, struct ptx_item *i, uint32_t at)
{
	const uint32_t name_end = find(m, at, "=;["), end = find(m, at, ";");
	char before = ' ';

	i->end = end ? end + 1 : 0;
	while (end && at < name_end) {
		struct ptx_word w = ptx_word_next(m->text, &at, name_end);

		if (w.length && ptx_named(m->text[w.at]) && before != '.')
			i->name = w;
		before = w.length ? m->text[w.at] : ' ';
	}
	for (at = end ? name_end : 0; end && at < end && !i->initialised; at++)
		i->initialised = m->text[at] == '=';
	return end != 0;
}

static bool read_section(struct ptx_module *m, struct ptx_item *i, uint32_t at)
{
	at = find(m, at, "{");
	i->end = at ? ptx_closing(m->text, at, m->length) : 0;
	return i->end != 0;
}

static bool read_file(struct ptx_module *m, struct ptx_item *i, uint32_t at)
{
	struct ptx_word number, name;

	i->end = end_of_line(m, at);
	number = ptx_word_next(m->text, &at, i->end);
	name = ptx_word_next(m->text, &at, i->end);
	if (name.length < 2 || m->text[name.at] != '"')
		return true;
	if (!vec_reserve(&m->files, &m->file_room, m->file_count, 1))
		return false;
	m->files[m->file_count++] = (struct ptx_file){
		(uint32_t)strtoul(m->text + number.at, NULL, 10), {name.at + 1, name.length - 2}};
	return true;
}

static bool read_head(struct ptx_module *m, struct ptx_item *i, uint32_t at)
{
	char *point;

	i->end = end_of_line(m, at);
	at = blanks(m, at);
	if (is(m, i->keyword, ".version")) {
		m->version = (uint32_t)strtoul(m->text + at, &point, 10) % 1000 * 100;
		if (*point == '.')
			m->version += (uint32_t)strtoul(point + 1, NULL, 10) % 100;
	} else if (is(m, i->keyword, ".target")) {
		m->target = ptx_word_next(m->text, &at, i->end);
	}
	return true;
}

static bool read_alias(struct ptx_module *m, struct ptx_item *i, uint32_t at)
{
	i->name = ptx_word_next(m->text, &at, m->length);
	at = find(m, at, ";");
	i->end = at ? at + 1 : 0;
	return at != 0;
}

static const struct keyword {
	const char *word;
	enum ptx_item_kind kind;
	bool (*read)(struct ptx_module *m, struct ptx_item *i, uint32_t at);
} keywords[] = {
	{".version", PTX_HEAD, read_head},
	{".target", PTX_HEAD, read_head},
	{".address_size", PTX_HEAD, read_head},
	{".file", PTX_FILE, read_file},
	{".loc", PTX_DEBUG, read_head},
	{".section", PTX_DEBUG, read_section},
	{".entry", PTX_KERNEL, read_function},
	{".func", PTX_FUNCTION, read_function},
	{".global", PTX_VARIABLE, read_variable},
	{".const", PTX_VARIABLE, read_variable},
	{".shared", PTX_VARIABLE, read_variable},
	{".tex", PTX_VARIABLE, read_variable},
	{".local", PTX_VARIABLE, read_variable},
	{".texref", PTX_VARIABLE, read_variable},
	{".surfref", PTX_VARIABLE, read_variable},
	{".samplerref", PTX_VARIABLE, read_variable},
	{".alias", PTX_OTHER, read_alias},
};

static bool read_keyword(struct ptx_module *m, struct ptx_item *i, uint32_t at)
{
	for (size_t k = 0; k < sizeof(keywords) / sizeof(keywords[0]); k++) {
		if (!is(m, i->keyword, keywords[k].word))
			continue;
		i->kind = keywords[k].kind;
		return keywords[k].read(m, i, at);
	}
	at = find(m, at, ";");
	i->end = at ? at + 1 : 0;
	return at != 0;
}

/* False: it is not as PTX is. */
static bool read_item(struct ptx_module *m, uint32_t at)
{
	struct ptx_item *i = &m->items[m->item_count++];

	*i = (struct ptx_item){.start = at};
	if (m->text[at] == '@') { /* lines of DWARF, of old compilers */
		i->kind = PTX_DEBUG;
		i->end = end_of_line(m, at);
		return true;
	}
	for (;;) {
		if (at >= m->length || m->text[at] != '.')
			return false;
		i->keyword = keyword_at(m, at);
		at = blanks(m, i->keyword.at + i->keyword.length);
		if (is(m, i->keyword, ".extern"))
			i->external = true;
		else if (is(m, i->keyword, ".visible") || is(m, i->keyword, ".weak") ||
			 is(m, i->keyword, ".common"))
			i->visible = true;
		else
			return read_keyword(m, i, at);
	}
}

/* ---- all of them ---- */

static int compare_words(const char *text, struct ptx_word a, const char *s, uint32_t length)
{
	uint32_t common = a.length < length ? a.length : length;
	int order = memcmp(text + a.at, s, common);

	return order ? order : a.length < length ? -1 : a.length > length;
}

static int by_name(const void *x, const void *y, void *module)
{
	const struct ptx_module *m = module;
	const struct ptx_word b = m->items[*(const uint32_t *)y].name;

	return compare_words(m->text, m->items[*(const uint32_t *)x].name, m->text + b.at,
			     b.length);
}

static int by_number(const void *x, const void *y)
{
	const struct ptx_file *a = x, *b = y;

	return a->number < b->number ? -1 : a->number > b->number;
}

static bool index_names(struct ptx_module *m)
{
	m->by_name = calloc(m->item_count + 1u, sizeof(*m->by_name));
	if (!m->by_name)
		return false;
	for (uint32_t i = 0; i < m->item_count; i++)
		if (m->items[i].name.length)
			m->by_name[m->named++] = i;
	qsort_r(m->by_name, m->named, sizeof(*m->by_name), by_name, m);
	if (m->file_count)
		qsort(m->files, m->file_count, sizeof(*m->files), by_number);
	return true;
}

const char *ptx_module_read(struct ptx_module *m, const char *text, size_t length)
{
	uint32_t at = 0;

	*m = (struct ptx_module){.text = NULL};
	if (length > LENGTH_MAX)
		return "its PTX is larger than 512 MiB";
	m->text = ptx_blank(text, length);
	if (!m->text)
		return no_memory;
	m->length = (uint32_t)length;
	while ((at = blanks(m, at)) < m->length) {
		if (!vec_reserve(&m->items, &m->item_room, m->item_count, 1))
			return no_memory;
		if (!read_item(m, at))
			return unreadable;
		at = m->items[m->item_count - 1].end;
	}
	if (!m->version || !m->target.length)
		return unreadable;
	return index_names(m) ? NULL : no_memory;
}

void ptx_module_release(struct ptx_module *m)
{
	free(m->text);
	free(m->items);
	free(m->by_name);
	free(m->files);
	*m = (struct ptx_module){.text = NULL};
}

const struct ptx_file *ptx_module_file(const struct ptx_module *m, uint32_t number)
{
	const struct ptx_file key = {.number = number};

	return m->file_count ? bsearch(&key, m->files, m->file_count, sizeof(key), by_number)
			     : NULL;
}

/* ---- what a kernel needs ---- */

/* The first of by_name that has this name; m->named: none. */
static uint32_t first_named(const struct ptx_module *m, const char *name, uint32_t length)
{
	uint32_t low = 0, high = m->named;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (compare_words(m->text, m->items[m->by_name[mid]].name, name, length) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Those of this name become kept; kernels are not, unless it is the one. */
static void keep_named(struct ptx_module *m, const char *name, uint32_t length, uint32_t *stack,
		       uint32_t *depth)
{
	for (uint32_t k = first_named(m, name, length); k < m->named; k++) {
		struct ptx_item *i = &m->items[m->by_name[k]];

		if (compare_words(m->text, i->name, name, length) != 0)
			return;
		if (i->kept || i->kind == PTX_KERNEL)
			continue;
		i->kept = true;
		stack[(*depth)++] = m->by_name[k];
	}
}

static void keep_used(struct ptx_module *m, const struct ptx_item *i, uint32_t *stack,
		      uint32_t *depth)
{
	uint32_t at = i->start;

	while (at < i->end) {
		struct ptx_word w = ptx_word_next(m->text, &at, i->end);

		if (w.length && ptx_named(m->text[w.at]) && m->text[w.at] != '%')
			keep_named(m, m->text + w.at, w.length, stack, depth);
	}
}

struct ptx_item *ptx_module_keep(struct ptx_module *m, const char *kernel)
{
	uint32_t *stack = calloc(m->item_count + 1u, sizeof(*stack)), depth = 0;
	const uint32_t length = (uint32_t)strlen(kernel);
	struct ptx_item *found = NULL;

	for (uint32_t k = first_named(m, kernel, length); stack && k < m->named; k++) {
		struct ptx_item *i = &m->items[m->by_name[k]];

		if (compare_words(m->text, i->name, kernel, length) != 0)
			break;
		if (i->kind != PTX_KERNEL || !i->body)
			continue;
		found = i;
		i->kept = true;
		stack[depth++] = m->by_name[k];
	}
	while (depth) {
		const struct ptx_item *i = &m->items[stack[--depth]];

		keep_used(m, i, stack, &depth);
	}
	free(stack);
	return found;
}
