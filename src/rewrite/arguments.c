/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of kernels that point to memory which all groups have: records tell what their values are. */
#include <ctype.h>
#include <string.h>

#include "base/vec.h"
#include "rewrite/plan.h"

static bool word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* One of the words for such memory, and a '*'. */
static bool points(const struct tree *t, uint32_t from, uint32_t to)
{
	static const char *const words[] = {"global", "__global", "constant", "__constant"};
	bool memory = false;

	for (uint32_t at = from; at < to; at++)
		for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			memory |= (at == from || !word_character(t->text[at - 1])) &&
				  tree_word(t, at, words[i]);
	return memory && memchr(t->text + from, '*', to - from);
}

static void add(struct plan *p, uint32_t function, uint32_t number, uint32_t from, uint32_t to)
{
	const char *text = p->tree.text;
	uint32_t begin;

	if (!points(&p->tree, from, to))
		return;
	while (to > from && isspace((unsigned char)text[to - 1]))
		to--;
	for (begin = to; begin > from && word_character(text[begin - 1]);)
		begin--;
	if (begin == to || isdigit((unsigned char)text[begin]))
		return; /* it has no name, or an attribute comes behind it */
	if (!vec_reserve(&p->arguments, &p->argument_room, p->argument_count, 1)) {
		tree_refuse(&p->tree, begin, "no memory");
		return;
	}
	p->arguments[p->argument_count++] = (struct argument){function, number, begin, to - begin};
}

static void of_kernel(struct plan *p, uint32_t function, const struct parameters *at)
{
	uint32_t from = at->open + 1, number = 0;

	while (!at->empty && from < at->close) {
		uint32_t to = tree_find(&p->tree, from, ',');

		to = to < at->close ? to : at->close;
		add(p, function, number++, from, to);
		from = to + 1;
	}
}

void plan_arguments(struct plan *p)
{
	const struct tree *t = &p->tree;

	for (uint32_t i = 0; i < t->function_count; i++) {
		const struct parameters *best =
			NULL; /* those of the definition are next to its body */
		const struct function *f = &t->functions[i];

		for (uint32_t k = 0; f->kernel && f->node && k < t->parameters_count; k++)
			if (t->parameters[k].function == i &&
			    t->parameters[k].close < tree_node(t, f->body)->begin &&
			    (!best || t->parameters[k].close > best->close))
				best = &t->parameters[k];
		if (best)
			of_kernel(p, i, best);
	}
}
