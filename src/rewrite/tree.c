/* SPDX-License-Identifier: Apache-2.0 */
/* See tree.h. */
#include "rewrite/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static const char FILE_NAME[] = "kymo.cl";

/* A visit under way: whose children they are. */
struct visit {
	struct tree *tree;
	const struct clang *clang;
	void *file;      /* the program's */
	uint32_t parent; /* 0: the program */
	uint32_t last;
};

/* ---- types ---- */

static enum space space_of(unsigned number)
{
	static const enum space known[] = {SPACE_PRIVATE,  SPACE_GLOBAL,  SPACE_LOCAL,
					   SPACE_CONSTANT, SPACE_PRIVATE, SPACE_GENERIC,
					   SPACE_GLOBAL,   SPACE_GLOBAL};

	return number < sizeof(known) / sizeof(known[0]) ? known[number] : SPACE_PRIVATE;
}

static enum type_class class_of(int kind)
{
	if ((kind >= CX_TYPE_BOOL && kind <= CX_TYPE_LONG_LONG) || kind == CX_TYPE_ENUM)
		return TYPE_INT;
	switch (kind) {
	case CX_TYPE_HALF:
	case CX_TYPE_FLOAT16:
		return TYPE_HALF;
	case CX_TYPE_FLOAT:
		return TYPE_FLOAT;
	case CX_TYPE_DOUBLE:
		return TYPE_DOUBLE;
	case CX_TYPE_POINTER:
		return TYPE_POINTER;
	case CX_TYPE_CONSTANT_ARRAY:
	case CX_TYPE_INCOMPLETE_ARRAY:
	case CX_TYPE_VARIABLE_ARRAY:
		return TYPE_ARRAY;
	case CX_TYPE_FUNCTION:
	case CX_TYPE_FUNCTION_NO_PROTO:
		return TYPE_FUNCTION;
	default:
		return TYPE_OTHER;
	}
}

static uint32_t size_of(const struct clang *c, CXType type)
{
	long long bytes = c->Type_getSizeOf(type);

	return bytes > 0 && bytes < UINT32_MAX ? (uint32_t)bytes : 0;
}

static uint8_t align_of(const struct clang *c, CXType type)
{
	long long bytes = c->Type_getAlignOf(type);

	return bytes <= 0 ? 0 : bytes < UINT8_MAX ? (uint8_t)bytes : UINT8_MAX;
}

static struct type type_of(const struct clang *c, CXType type)
{
	CXType t = c->getCanonicalType(type);
	struct type out = {.of = (uint8_t)class_of(t.kind), .width = 1};

	out.space = (uint8_t)space_of(c->getAddressSpace(t));
	out.bytes = t.kind ? size_of(c, t) : 0;
	out.align = t.kind ? align_of(c, t) : 0;
	if (t.kind == CX_TYPE_VECTOR || t.kind == CX_TYPE_EXT_VECTOR) {
		out.vector = true;
		out.width = (uint8_t)c->getNumElements(t);
		out.of = (uint8_t)class_of(c->getCanonicalType(c->getElementType(t)).kind);
	}
	if (out.of == TYPE_POINTER) {
		CXType target = c->getCanonicalType(c->getPointeeType(t));

		out.target = (uint8_t)space_of(c->getAddressSpace(target));
		out.target_bytes = size_of(c, target);
		out.target_align = align_of(c, target);
		out.target_of = (uint8_t)class_of(target.kind);
	}
	return out;
}

/* ---- places ---- */

static uint32_t place(const struct visit *v, CXSourceLocation location)
{
	void *file = NULL;
	unsigned offset = 0;

	v->clang->getFileLocation(location, &file, NULL, NULL, &offset);
	return file == v->file && offset <= v->tree->length ? offset : UINT32_MAX;
}

static bool extent(const struct visit *v, CXCursor cursor, uint32_t *begin, uint32_t *end)
{
	CXSourceRange range = v->clang->getCursorExtent(cursor);

	*begin = place(v, v->clang->getRangeStart(range));
	*end = place(v, v->clang->getRangeEnd(range));
	return *begin != UINT32_MAX && *end != UINT32_MAX && *begin <= *end;
}

/* ---- functions ---- */

static uint32_t find_function(struct visit *v, CXCursor cursor)
{
	struct tree *t = v->tree;
	CXCursor canonical = v->clang->getCanonicalCursor(cursor);
	struct function *f;
	CXString name;

	for (uint32_t i = 0; i < t->function_count; i++)
		if (v->clang->equalCursors(t->functions[i].cursor, canonical))
			return i + 1;
	if (!vec_reserve(&t->functions, &t->function_room, t->function_count, 1)) {
		tree_refuse(t, 0, "no memory");
		return 0;
	}
	f = &t->functions[t->function_count++];
	name = v->clang->getCursorSpelling(cursor);
	*f = (struct function){.cursor = canonical, .name = strdup(v->clang->getCString(name))};
	v->clang->disposeString(name);
	return t->function_count;
}

static bool blank_or_void(const struct tree *t, uint32_t open, uint32_t close)
{
	uint32_t at = tree_skip(t, open + 1);

	if (at < close && tree_word(t, at, "void"))
		at = tree_skip(t, at + 4);
	return at >= close;
}

/* Where the parameters of this declaration end. */
static void note_parameters(struct visit *v, CXCursor cursor, uint32_t function)
{
	struct tree *t = v->tree;
	uint32_t at = place(v, v->clang->getCursorLocation(cursor)), open, close;

	open = at == UINT32_MAX ? t->length : at;
	while (open < t->length && t->text[open] != '(')
		open++;
	close = open < t->length ? tree_closing(t, open) : t->length;
	if (close >= t->length ||
	    !vec_reserve(&t->parameters, &t->parameters_room, t->parameters_count, 1)) {
		tree_refuse(t, 0, "the parameters of a function were not found");
		return;
	}
	t->parameters[t->parameters_count++] =
		(struct parameters){function, close, blank_or_void(t, open, close), open};
}

/* Between the end of what came before and the name of the function there is the word. */
static bool says_kernel(const struct tree *t, uint32_t begin, uint32_t name)
{
	while (begin > 0 && t->text[begin - 1] != ';' && t->text[begin - 1] != '}')
		begin--;
	for (uint32_t at = tree_skip(t, begin); at < name; at = tree_skip(t, at + 1))
		if ((tree_word(t, at, "__kernel") || tree_word(t, at, "kernel")) &&
		    (at == 0 || strchr(" \t\n\r)(;}", t->text[at - 1])))
			return true;
	return false;
}

/* ---- nodes ---- */

static bool wanted(int kind)
{
	return (kind >= CX_UNEXPOSED_EXPR && kind < CX_ATTR_FIRST) || kind == CX_VAR ||
	       kind == CX_FUNCTION;
}

static uint8_t flow_of(int kind)
{
	switch (kind) {
	case CX_RETURN:
	case CX_GOTO:
	case CX_INDIRECT_GOTO:
		return LEAVES_FUNCTION;
	case CX_BREAK:
		return LEAVES_BREAK;
	case CX_CONTINUE:
		return LEAVES_CONTINUE;
	case CX_CASE:
	case CX_DEFAULT:
		return HAS_CASE;
	case CX_LABEL:
		return HAS_LABEL;
	default:
		return 0;
	}
}

/* What stays within such a statement. */
static uint8_t kept(int kind)
{
	if (kind == CX_FOR || kind == CX_WHILE || kind == CX_DO)
		return LEAVES_BREAK | LEAVES_CONTINUE;
	return kind == CX_SWITCH ? LEAVES_BREAK | HAS_CASE : 0;
}

static bool counts(const struct node *n)
{
	switch (n->kind) {
	case CX_CALL:
	case CX_UNARY:
	case CX_SUBSCRIPT:
	case CX_BINARY:
	case CX_COMPOUND_ASSIGN:
	case CX_CONDITIONAL:
	case CX_MEMBER:
	case CX_STMT_EXPR:
		return true;
	case CX_DECL_REF:
		return n->type.space != SPACE_PRIVATE;
	default:
		return false;
	}
}

static uint32_t add_node(struct visit *v, CXCursor cursor)
{
	struct tree *t = v->tree;
	struct node n = {.kind = (uint16_t)cursor.kind};

	if (!extent(v, cursor, &n.begin, &n.end)) {
		tree_refuse(t, t->nodes[v->parent].begin, "a part of it has no place in the text");
		return 0;
	}
	if (cursor.kind < CX_UNEXPOSED_STMT)
		n.type = type_of(v->clang, v->clang->getCursorType(cursor));
	n.flow = flow_of(cursor.kind);
	n.counted = counts(&n);
	if (!vec_reserve(&t->nodes, &t->room, t->count, 1)) {
		tree_refuse(t, 0, "no memory");
		return 0;
	}
	t->nodes[t->count] = n;
	return t->count++;
}

static void link_node(struct visit *v, uint32_t i)
{
	struct tree *t = v->tree;

	if (v->last)
		t->nodes[v->last].next = i;
	else if (v->parent)
		t->nodes[v->parent].child = i;
	v->last = i;
}

static int visit_child(CXCursor cursor, CXCursor parent, void *data);

static void visit_inside(struct visit *v, CXCursor cursor, uint32_t i)
{
	struct visit inner = {v->tree, v->clang, v->file, i, 0};
	struct node *n;
	uint8_t flow = 0;
	bool counted = false;

	v->clang->visitChildren(cursor, visit_child, &inner);
	for (uint32_t c = v->tree->nodes[i].child; c; c = v->tree->nodes[c].next) {
		flow |= v->tree->nodes[c].flow;
		counted |= v->tree->nodes[c].counted;
	}
	n = &v->tree->nodes[i];
	n->flow |= flow & (uint8_t)~kept(n->kind);
	n->counted |= counted;
}

static void add_variable(struct visit *v, CXCursor cursor, uint32_t i)
{
	CXCursor initial = v->clang->Cursor_getVarDeclInitializer(cursor);
	struct visit inner = {v->tree, v->clang, v->file, i, 0};
	enum { STATIC = 3 };

	/* What is computed when the program is built. */
	if (v->tree->nodes[i].type.space == SPACE_CONSTANT ||
	    v->clang->Cursor_getStorageClass(cursor) == STATIC)
		return;
	if (initial.kind >= CX_UNEXPOSED_EXPR && initial.kind < CX_UNEXPOSED_STMT) {
		visit_child(initial, cursor, &inner);
		if (v->tree->nodes[i].child)
			v->tree->nodes[i].counted = v->tree->nodes[v->tree->nodes[i].child].counted;
	}
}

static void add_call(struct visit *v, CXCursor cursor, uint32_t i)
{
	CXCursor called = v->clang->getCursorReferenced(cursor);

	if (called.kind == CX_FUNCTION &&
	    place(v, v->clang->getCursorLocation(called)) != UINT32_MAX)
		v->tree->nodes[i].function = find_function(v, called);
}

static int visit_child(CXCursor cursor, CXCursor parent, void *data)
{
	struct visit *v = data;
	uint32_t i;

	(void)parent;
	if (!wanted(cursor.kind) || v->tree->why[0])
		return CX_VISIT_CONTINUE;
	i = add_node(v, cursor);
	if (!i)
		return CX_VISIT_CONTINUE;
	link_node(v, i);
	switch (cursor.kind) {
	case CX_VAR:
		add_variable(v, cursor, i);
		break;
	case CX_SIZEOF:
		break; /* nothing in it runs */
	case CX_FUNCTION:
		tree_refuse(v->tree, v->tree->nodes[i].begin, "a function declared in a function");
		break;
	case CX_CALL:
		add_call(v, cursor, i);
		visit_inside(v, cursor, i);
		break;
	default:
		visit_inside(v, cursor, i);
	}
	return CX_VISIT_CONTINUE;
}

/* ---- the program ---- */

/* What a function's declaration has: its body, and promises that do not hold once it counts. */
struct parts {
	struct visit *visit;
	CXCursor body;
};

static void note_promise(struct visit *v, CXCursor cursor)
{
	struct tree *t = v->tree;
	uint32_t begin, end;

	if (!extent(v, cursor, &begin, &end) ||
	    !vec_reserve(&t->promises, &t->promise_room, t->promise_count, 1)) {
		tree_refuse(t, 0, "an attribute of a function was not found");
		return;
	}
	t->promises[t->promise_count++] = (struct stretch){begin, end};
}

static int find_parts(CXCursor cursor, CXCursor parent, void *data)
{
	struct parts *p = data;

	(void)parent;
	if (cursor.kind == CX_COMPOUND)
		p->body = cursor;
	if (cursor.kind == CX_ATTR_PURE || cursor.kind == CX_ATTR_CONST)
		note_promise(p->visit, cursor);
	return CX_VISIT_CONTINUE;
}

static int visit_top(CXCursor cursor, CXCursor parent, void *data)
{
	struct visit *v = data;
	uint32_t at = place(v, v->clang->getCursorLocation(cursor)), f, i;
	struct parts parts = {.visit = v};
	struct visit inner;

	(void)parent;
	if (cursor.kind != CX_FUNCTION || at == UINT32_MAX || v->tree->why[0])
		return CX_VISIT_CONTINUE;
	f = find_function(v, cursor);
	i = add_node(v, cursor);
	if (!f || !i)
		return CX_VISIT_CONTINUE;
	note_parameters(v, cursor, f - 1);
	v->tree->functions[f - 1].kernel |= says_kernel(v->tree, v->tree->nodes[i].begin, at);
	v->clang->visitChildren(cursor, find_parts, &parts);
	if (parts.body.kind == CX_COMPOUND) {
		inner = (struct visit){v->tree, v->clang, v->file, i, 0};
		visit_child(parts.body, cursor, &inner);
		v->tree->functions[f - 1].node = i;
		v->tree->functions[f - 1].body = v->tree->nodes[i].child;
	}
	return CX_VISIT_CONTINUE;
}

/* The first error; false: there is none. */
static bool find_error(struct visit *v, void *unit)
{
	const struct clang *c = v->clang;

	for (unsigned i = 0; i < c->getNumDiagnostics(unit); i++) {
		void *d = c->getDiagnostic(unit, i);
		bool error = c->getDiagnosticSeverity(d) >= CX_SEVERITY_ERROR;
		CXString text = c->getDiagnosticSpelling(d);
		uint32_t at = place(v, c->getDiagnosticLocation(d));

		if (error)
			tree_refuse(v->tree, at == UINT32_MAX ? 0 : at, "clang: %s",
				    c->getCString(text));
		c->disposeString(text);
		c->disposeDiagnostic(d);
		if (error)
			return true;
	}
	return false;
}

bool tree_build(struct tree *t, const struct clang *c, const char *const *arguments, int count)
{
	struct CXUnsavedFile file = {FILE_NAME, t->text, t->length};
	struct visit v = {.tree = t, .clang = c};
	void *index = c->createIndex(0, 0), *unit = NULL;
	int failed =
		c->parseTranslationUnit2(index, FILE_NAME, arguments, count, &file, 1, 0, &unit);

	if (failed || !unit) {
		tree_refuse(t, 0, "libclang could not read it (error %d)", failed);
		return false;
	}
	v.file = c->getFile(unit, FILE_NAME);
	if (!find_error(&v, unit) && vec_reserve(&t->nodes, &t->room, t->count, 1)) {
		t->nodes[t->count++] = (struct node){0};
		c->visitChildren(c->getTranslationUnitCursor(unit), visit_top, &v);
	}
	/* Nothing is disposed of: the process ends soon, and it takes longer than the end. */
	return !t->why[0];
}

void tree_release(struct tree *t)
{
	for (uint32_t i = 0; i < t->function_count; i++)
		free(t->functions[i].name);
	free(t->functions);
	free(t->parameters);
	free(t->promises);
	free(t->nodes);
	*t = (struct tree){0};
}
