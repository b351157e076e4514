/* SPDX-License-Identifier: Apache-2.0 */
/* What records are told apart by beside the keys of tallies; see details.h. */
#include "analysis/details.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/launches.h"
#include "analysis/libraries.h"
#include "analysis/scopes.h"
#include "base/hash.h"
#include "base/vec.h"
#include "stream/symbol.h"

enum {
	PARENTS_MAX = 64, /* calls inside each other that are looked at */
	FRAMES_SHOWN = 6,
	UNKNOWN_CALL = 1, /* of `of_call`: the call that work came from was not recorded */
	NO_CALL = 2       /* nothing says which call it came from */
};

/* Numbers of what is known of a record; 0: nothing. */
struct detail {
	uint32_t scope, site, stack, grid, library;
	uint32_t of_call;
};

struct grid {
	uint64_t items[3], block[3];
	uint64_t dims;
};

struct details {
	const struct trace *trace;
	unsigned by;
	struct scopes *scopes;
	struct launches *launches;
	struct symbols *symbols;
	bool *foreign;   /* by module: no part of the program */
	uint8_t *kernel; /* by op: a kernel that has run */
	/* Of libraries: what names tell, looked up once; 0: nothing, ask the call around it. */
	uint32_t *module_library, *domain_library, *kernel_library;
	struct detail *list;
	uint32_t count, room;
	struct map places;
	struct grid *grids;
	uint32_t grid_count, grid_room;
	struct map grid_places;
	bool failed;
};

/* Libraries: none, the program, one of the table's by its module or domain. */
enum {
	LIBRARY_NONE,
	LIBRARY_PROGRAM,
	LIBRARY_MODULE,
	LIBRARY_DOMAIN,
	LIBRARY_KERNEL,
	LIBRARY_BITS = 3
};

static const char *file_name(const struct t_module *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? slash + 1 : m->path;
}

static const struct t_module *module_of(const struct details *d, uint32_t site)
{
	const struct trace *t = d->trace;
	uint32_t m = site < t->sites_count ? t->sites[site].module : 0;

	return &t->modules[m < t->modules_count ? m : 0];
}

static bool is_ours(const struct details *d, uint32_t site)
{
	const struct t_module *m = module_of(d, site);

	return m != d->trace->modules && !d->foreign[m - d->trace->modules];
}

/* ---- sites ------------------------------------------------------------------------------------- */

static uint32_t ours_in_stack(const struct details *d, uint32_t stack)
{
	const struct trace *t = d->trace;

	if (!stack || stack >= t->stacks_count)
		return 0;
	for (uint32_t i = 0; i < t->stacks[stack].count; i++)
		if (is_ours(d, t->stacks[stack].sites[i]))
			return t->stacks[stack].sites[i];
	return 0;
}

/* Where the program made the call: the nearest place that is no library's; else where it was made. */
static uint32_t our_site(const struct details *d, uint32_t process, const struct launch *l)
{
	uint32_t site = 0, found = 0;

	for (unsigned i = 0; l && !found && i < PARENTS_MAX; i++) {
		found = is_ours(d, l->site) ? l->site : ours_in_stack(d, l->stack);
		site = site ? site : l->site;
		l = launches_find(d->launches, process, l->parent);
	}
	return found ? found : site;
}

/* The stack that is known: its own, or that of a call around it. */
static uint32_t stack_of(const struct details *d, uint32_t process, const struct launch *l)
{
	for (unsigned i = 0; l && !l->stack && i < PARENTS_MAX; i++)
		l = launches_find(d->launches, process, l->parent);
	return l ? l->stack : 0;
}

/* ---- libraries --------------------------------------------------------------------------------- */

static uint32_t library_number(unsigned kind, uint32_t index)
{
	return index << LIBRARY_BITS | kind;
}

static const char *kernel_domain(const struct trace *t, uint32_t kernel, const char **name)
{
	const struct t_kernel *k = &t->kernels[kernel < t->kernels_count ? kernel : 0];

	*name = k->name ? k->name : "";
	return k->domain ? k->domain : "";
}

static uint32_t library_by_kernel(const struct details *d, const struct rec *r)
{
	uint32_t kernel;

	if (!d->kernel[r->op])
		return 0;
	kernel = ((const struct rec_dispatch *)(const void *)r)->kernel;
	return kernel < d->trace->kernels_count ? d->kernel_library[kernel] : 0;
}

/* The nearest call around it that is a library's, or was made by one, or by the program. */
static uint32_t library_by_call(const struct details *d, uint32_t process, const struct launch *l)
{
	const struct trace *t = d->trace;
	uint32_t module = 0;

	for (unsigned i = 0; l && i < PARENTS_MAX; i++) {
		uint32_t domain = t->ops[l->op < t->ops_count ? l->op : 0].domain;
		uint32_t m = (uint32_t)(module_of(d, l->site) - t->modules);

		if (d->domain_library[domain])
			return d->domain_library[domain];
		if (d->module_library[m])
			return d->module_library[m];
		if (m && !module)
			module = library_number(LIBRARY_MODULE, m);
		l = launches_find(d->launches, process, l->parent);
	}
	return module;
}

/* A runtime's own file tells nothing of who did the work. */
static uint32_t library_by_module(const struct trace *t, uint32_t module)
{
	const char *file = file_name(&t->modules[module]);
	const struct library *l = library_of_module(file);

	if (l && l->passes_on)
		return 0;
	return l || library_is_shared(file) ? library_number(LIBRARY_MODULE, module)
					    : LIBRARY_PROGRAM;
}

static bool look_at_libraries(struct details *d)
{
	const struct trace *t = d->trace;

	d->module_library = calloc(t->modules_count + 1u, sizeof(*d->module_library));
	d->domain_library = calloc(t->domains_count + 1u, sizeof(*d->domain_library));
	d->kernel_library = calloc(t->kernels_count + 1u, sizeof(*d->kernel_library));
	if (!d->module_library || !d->domain_library || !d->kernel_library)
		return false;
	for (uint32_t i = 1; i < t->modules_count; i++)
		d->module_library[i] = library_by_module(t, i);
	for (uint32_t i = 0; i < t->domains_count; i++)
		if (library_of_domain(t->domains[i].name))
			d->domain_library[i] = library_number(LIBRARY_DOMAIN, i);
	for (uint32_t i = 0; i < t->kernels_count; i++) {
		const char *name, *domain = kernel_domain(t, i, &name);

		if (library_of_kernel(domain, name))
			d->kernel_library[i] = library_number(LIBRARY_KERNEL, i);
	}
	return true;
}

static void add_library(struct text *out, const struct details *d, uint32_t number)
{
	const struct trace *t = d->trace;
	uint32_t index = number >> LIBRARY_BITS;
	const struct library *l = NULL;
	const char *name = "";

	switch (number & ((1u << LIBRARY_BITS) - 1)) {
	case LIBRARY_PROGRAM:
		name = "(the program)";
		break;
	case LIBRARY_MODULE:
		name = file_name(&t->modules[index]);
		l = library_of_module(name);
		break;
	case LIBRARY_DOMAIN:
		l = library_of_domain(t->domains[index].name);
		break;
	case LIBRARY_KERNEL: {
		const char *domain = kernel_domain(t, index, &name);

		l = library_of_kernel(domain, name);
		break;
	}
	default:
		name = "(not known)";
	}
	text_add(out, l ? l->name : name);
}

/* ---- grids ------------------------------------------------------------------------------------- */

static uint32_t grid_of(struct details *d, const struct rec_dispatch *r)
{
	struct grid g = {.dims = r->dims};
	uint64_t hash, i;

	for (uint32_t k = 0; k < 3; k++) {
		g.items[k] = k < r->dims ? r->global[k] : 1;
		g.block[k] = k < r->dims ? r->local[k] : r->local[0] ? 1 : 0;
	}
	hash = hash_bytes(&g, sizeof(g));
	map_each(&d->grid_places, hash, i)
		if (memcmp(&d->grids[i], &g, sizeof(g)) == 0)
			return (uint32_t)i;
	if (!vec_reserve(&d->grids, &d->grid_room, d->grid_count, 1) ||
	    !map_add(&d->grid_places, hash, d->grid_count)) {
		d->failed = true;
		return 0;
	}
	d->grids[d->grid_count] = g;
	return d->grid_count++;
}

static void add_triple(struct text *out, const uint64_t v[3])
{
	text_addf(out, "(%llu,%llu,%llu)", (unsigned long long)v[0], (unsigned long long)v[1],
		  (unsigned long long)v[2]);
}

/* Blocks times the items of a block; the last block of a row may not be full. */
static void add_grid(struct text *out, const struct grid *g)
{
	uint64_t blocks[3];

	if (!g->dims) {
		text_add(out, "(not known)");
		return;
	}
	if (!g->block[0] || !g->block[1] || !g->block[2]) {
		add_triple(out, g->items);
		text_add(out, " items");
		return;
	}
	for (unsigned k = 0; k < 3; k++)
		blocks[k] = g->items[k] / g->block[k] + (g->items[k] % g->block[k] != 0);
	add_triple(out, blocks);
	text_add(out, " x ");
	add_triple(out, g->block);
}

/* ---- records ----------------------------------------------------------------------------------- */

static uint32_t number_of(struct details *d, const struct detail *x)
{
	static const struct detail none;
	uint64_t hash = hash_bytes(x, sizeof(*x)), i;

	if (memcmp(x, &none, sizeof(none)) == 0)
		return 0;
	map_each(&d->places, hash, i)
		if (memcmp(&d->list[i], x, sizeof(*x)) == 0)
			return (uint32_t)i;
	if (!vec_reserve(&d->list, &d->room, d->count, 1) || !map_add(&d->places, hash, d->count)) {
		d->failed = true;
		return 0;
	}
	d->list[d->count] = *x;
	return d->count++;
}

/* The call that the record is, or came from. */
static bool launch_of(const struct details *d, const struct rec *r, struct launch *out,
		      uint32_t *of_call)
{
	uint64_t call = launches_call_of(d->launches, r);
	const struct launch *l = launches_find(d->launches, r->process, call);

	if (l)
		*out = *l;
	else if (r->id) /* a call */
		*out = (struct launch){r->parent, r->site, r->stack, r->op};
	else
		*of_call = call ? UNKNOWN_CALL : NO_CALL;
	return l || r->id;
}

static void add_launch(struct details *d, const struct rec *r, struct detail *x)
{
	struct launch l = {0};
	bool known = launch_of(d, r, &l, &x->of_call);

	if (d->by & BY_LIBRARY)
		x->library = library_by_kernel(d, r);
	if (known && d->by & BY_LIBRARY && !x->library)
		x->library = library_by_call(d, r->process, &l);
	if (!(d->by & (BY_SITE | BY_STACK)))
		x->of_call = 0;
	if (known && d->by & (BY_SITE | BY_STACK))
		x->site = our_site(d, r->process, &l);
	if (known && d->by & BY_STACK)
		x->stack = stack_of(d, r->process, &l);
}

uint32_t details_of(void *details, const struct rec *r, uint64_t call)
{
	struct details *d = details;
	struct detail x = {0};

	static_assert(offsetof(struct rec_dispatch, base) == 0, "a record begins with its base");
	if (r->op >= d->trace->ops_count)
		return 0;
	if (d->scopes)
		x.scope = call ? scopes_path_of_call(d->scopes, r->process, call)
			       : scopes_path(d->scopes, r->process, r->scope);
	if (d->launches)
		add_launch(d, r, &x);
	if (d->by & BY_GRID && d->kernel[r->op])
		x.grid = grid_of(d, (const struct rec_dispatch *)(const void *)r);
	return number_of(d, &x);
}

/* ---- labels ------------------------------------------------------------------------------------ */

static void add_site(struct text *out, const struct details *d, const struct detail *x)
{
	char text[600];

	if (x->site)
		text_add(out, symbols_text(d->symbols, x->site, text, sizeof(text)));
	else if (x->of_call == UNKNOWN_CALL)
		text_add(out, "(call not recorded)");
	else
		text_add(out, "(not known)");
}

/* What the system has put around main(), or a thread's function, is left out. */
static uint32_t stack_end(const struct details *d, const uint32_t *sites, uint32_t count,
			  uint32_t first)
{
	uint32_t end = first;

	for (uint32_t i = first; i < count; i++) {
		const struct symbol *y = symbols_site(d->symbols, sites[i]);

		while (y->caller) /* others may be inlined into main() */
			y = y->caller;
		if (is_ours(d, sites[i]))
			end = i + 1;
		if (is_ours(d, sites[i]) && y->function && strcmp(y->function, "main") == 0)
			break;
	}
	return end;
}

/* From the place in the program outwards, as a list of functions. */
static void add_stack(struct text *out, const struct details *d, const struct detail *x)
{
	uint32_t first = 0, end, n = 0, count;
	const uint32_t *sites;
	char text[600];

	if (!x->stack) {
		add_site(out, d, x);
		return;
	}
	sites = symbols_stack(d->symbols, x->stack, SYMBOLS_CALLER, &count);
	while (first < count && sites[first] != x->site)
		first++;
	if (first == count) { /* it is a call around it */
		add_site(out, d, x);
		return;
	}
	end = stack_end(d, sites, count, first);
	for (uint32_t i = first; i < end && n <= FRAMES_SHOWN; i++)
		for (const struct symbol *y = symbols_site(d->symbols, sites[i]);
		     y && n <= FRAMES_SHOWN; y = y->caller, n++) {
			if (n == FRAMES_SHOWN)
				text_add(out, " < ...");
			else
				text_addf(out, "%s%s%s", n ? " < " : "",
					  symbol_text(y, text, sizeof(text)),
					  y->caller ? " (inlined)" : "");
		}
}

void details_add(struct text *out, const struct details *d, uint32_t number, unsigned by)
{
	const struct detail *x = d && number < d->count ? &d->list[number] : NULL;

	if (!x)
		return;
	switch (by) {
	case BY_SCOPE:
		text_add(out, scopes_text(d->scopes, x->scope));
		break;
	case BY_SITE:
		add_site(out, d, x);
		break;
	case BY_STACK:
		add_stack(out, d, x);
		break;
	case BY_GRID:
		add_grid(out, &d->grids[x->grid]);
		break;
	default:
		add_library(out, d, x->library);
	}
}

/* ---- life -------------------------------------------------------------------------------------- */

bool details_in_full(unsigned by)
{
	return by & DETAILS_BY & ~(unsigned)(BY_SCOPE | BY_GRID);
}

static bool look_at_names(struct details *d)
{
	const struct trace *t = d->trace;

	d->foreign = calloc(t->modules_count + 1u, sizeof(*d->foreign));
	d->kernel = calloc(t->ops_count + 1u, sizeof(*d->kernel));
	for (uint32_t i = 1; d->foreign && i < t->modules_count; i++)
		d->foreign[i] = library_of_module(file_name(&t->modules[i])) != NULL;
	for (uint32_t i = 0; d->kernel && i < t->ops_count; i++)
		d->kernel[i] = strcmp(t->domains[t->ops[i].domain].name, "dispatch") == 0;
	return d->foreign && d->kernel;
}

struct details *details_new(struct raw_trace *rt, unsigned by, const struct format_options *o)
{
	struct details *d = calloc(1, sizeof(*d));
	bool ok;

	if (!d)
		return NULL;
	d->trace = raw_trace_definitions(rt);
	d->by = by;
	/* Index 0 of each is "none". */
	ok = look_at_names(d) && vec_reserve(&d->list, &d->room, 0, 1) &&
	     vec_reserve(&d->grids, &d->grid_room, 0, 1);
	if (ok) {
		d->list[d->count++] = (struct detail){0};
		d->grids[d->grid_count++] = (struct grid){0};
	}
	if (ok && by & BY_LIBRARY)
		ok = look_at_libraries(d);
	if (ok && by & BY_SCOPE)
		ok = (d->scopes = scopes_new(rt, o->depth)) != NULL;
	if (ok && details_in_full(by))
		ok = (d->launches = launches_new(rt, d->foreign)) != NULL &&
		     (d->symbols = symbols_new(d->trace, o->log)) != NULL;
	if (ok)
		return d;
	details_free(d);
	return NULL;
}

void details_free(struct details *d)
{
	if (!d)
		return;
	scopes_free(d->scopes);
	launches_free(d->launches);
	symbols_free(d->symbols);
	map_release(&d->places);
	map_release(&d->grid_places);
	free(d->foreign);
	free(d->kernel);
	free(d->module_library);
	free(d->domain_library);
	free(d->kernel_library);
	free(d->list);
	free(d->grids);
	free(d);
}
