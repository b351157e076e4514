/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libclang, loaded by its name: the functions, structures and numbers of its stable C interface that the rewriter uses. Debian
 * has libraries of several versions and headers of none with them, so they are declared here.
 */
#ifndef REWRITE_CLANG_H
#define REWRITE_CLANG_H

#include <limits.h>
#include <stdbool.h>

#include "base/library.h"

typedef struct {
	const void *data;
	unsigned flags;
} CXString;

typedef struct {
	int kind;
	int xdata;
	const void *data[3];
} CXCursor;

typedef struct {
	int kind;
	void *data[2];
} CXType;

typedef struct {
	const void *data[2];
	unsigned place;
} CXSourceLocation;

typedef struct {
	const void *data[2];
	unsigned begin, end;
} CXSourceRange;

struct CXUnsavedFile {
	const char *name;
	const char *content;
	unsigned long length;
};

/* Kinds of cursors. */
enum {
	CX_STRUCT = 2,
	CX_FUNCTION = 8,
	CX_VAR = 9,
	CX_PARM = 10,
	CX_TYPEDEF = 20,
	CX_TYPE_REF = 43,
	CX_UNEXPOSED_EXPR = 100,
	CX_DECL_REF = 101,
	CX_MEMBER = 102,
	CX_CALL = 103,
	CX_BLOCK_EXPR = 105,
	CX_INTEGER = 106,
	CX_FLOATING = 107,
	CX_STRING = 109,
	CX_CHARACTER = 110,
	CX_PAREN = 111,
	CX_UNARY = 112,
	CX_SUBSCRIPT = 113,
	CX_BINARY = 114,
	CX_COMPOUND_ASSIGN = 115,
	CX_CONDITIONAL = 116,
	CX_CAST = 117,
	CX_COMPOUND_LITERAL = 118,
	CX_INIT_LIST = 119,
	CX_STMT_EXPR = 121,
	CX_SIZEOF = 136,
	CX_UNEXPOSED_STMT = 200,
	CX_LABEL = 201,
	CX_COMPOUND = 202,
	CX_CASE = 203,
	CX_DEFAULT = 204,
	CX_IF = 205,
	CX_SWITCH = 206,
	CX_WHILE = 207,
	CX_DO = 208,
	CX_FOR = 209,
	CX_GOTO = 210,
	CX_INDIRECT_GOTO = 211,
	CX_CONTINUE = 212,
	CX_BREAK = 213,
	CX_RETURN = 214,
	CX_ASM = 215,
	CX_NULL = 230,
	CX_DECL_STMT = 231,
	CX_ATTR_FIRST = 400,
	CX_ATTR_PURE = 409,
	CX_ATTR_CONST = 410,
	CX_ATTR_LAST = 499,
};

/* Kinds of types. */
enum {
	CX_TYPE_VOID = 2,
	CX_TYPE_BOOL = 3,
	CX_TYPE_LONG_LONG = 19, /* the last of the integers, which begin with BOOL */
	CX_TYPE_FLOAT = 21,
	CX_TYPE_DOUBLE = 22,
	CX_TYPE_HALF = 31,
	CX_TYPE_FLOAT16 = 32,
	CX_TYPE_POINTER = 101,
	CX_TYPE_ENUM = 106,
	CX_TYPE_FUNCTION_NO_PROTO = 110,
	CX_TYPE_FUNCTION = 111,
	CX_TYPE_CONSTANT_ARRAY = 112,
	CX_TYPE_VECTOR = 113,
	CX_TYPE_INCOMPLETE_ARRAY = 114,
	CX_TYPE_VARIABLE_ARRAY = 115,
	CX_TYPE_IMAGE_FIRST = 121,
	CX_TYPE_IMAGE_LAST = 156,
	CX_TYPE_EXT_VECTOR = 176,
	CX_TYPE_ATOMIC = 177,
};

enum { CX_VISIT_CONTINUE = 1, CX_SEVERITY_ERROR = 3 };

typedef int (*clang_visitor)(CXCursor cursor, CXCursor parent, void *data);

/* Result, name, parameters. */
#define CLANG_FUNCTIONS(X)                                                                         \
	X(void *, createIndex, (int, int))                                                         \
	X(int, parseTranslationUnit2,                                                              \
	  (void *, const char *, const char *const *, int, struct CXUnsavedFile *, unsigned,       \
	   unsigned, void **))                                                                     \
	X(void *, getFile, (void *, const char *))                                                 \
	X(unsigned, getNumDiagnostics, (void *))                                                   \
	X(void *, getDiagnostic, (void *, unsigned))                                               \
	X(void, disposeDiagnostic, (void *))                                                       \
	X(int, getDiagnosticSeverity, (void *))                                                    \
	X(CXString, getDiagnosticSpelling, (void *))                                               \
	X(CXSourceLocation, getDiagnosticLocation, (void *))                                       \
	X(const char *, getCString, (CXString))                                                    \
	X(void, disposeString, (CXString))                                                         \
	X(CXCursor, getTranslationUnitCursor, (void *))                                            \
	X(unsigned, visitChildren, (CXCursor, clang_visitor, void *))                              \
	X(CXSourceRange, getCursorExtent, (CXCursor))                                              \
	X(CXSourceLocation, getCursorLocation, (CXCursor))                                         \
	X(CXSourceLocation, getRangeStart, (CXSourceRange))                                        \
	X(CXSourceLocation, getRangeEnd, (CXSourceRange))                                          \
	X(void, getFileLocation, (CXSourceLocation, void **, unsigned *, unsigned *, unsigned *))  \
	X(CXString, getCursorSpelling, (CXCursor))                                                 \
	X(CXCursor, getCursorReferenced, (CXCursor))                                               \
	X(CXCursor, getCanonicalCursor, (CXCursor))                                                \
	X(unsigned, equalCursors, (CXCursor, CXCursor))                                            \
	X(CXType, getCursorType, (CXCursor))                                                       \
	X(CXType, getCanonicalType, (CXType))                                                      \
	X(CXType, getPointeeType, (CXType))                                                        \
	X(CXType, getElementType, (CXType))                                                        \
	X(long long, getNumElements, (CXType))                                                     \
	X(unsigned, getAddressSpace, (CXType))                                                     \
	X(long long, Type_getSizeOf, (CXType))                                                     \
	X(long long, Type_getAlignOf, (CXType))                                                    \
	X(int, Cursor_getStorageClass, (CXCursor))                                                 \
	X(CXCursor, Cursor_getVarDeclInitializer, (CXCursor))

#define CLANG_POINTER(result, name, parameters) result(*name) parameters;

struct clang {
	CLANG_FUNCTIONS(CLANG_POINTER)
	int version;              /* 19 */
	char library[PATH_MAX];   /* the file it is in */
	char program[PATH_MAX];   /* clang of that version: the preprocessor */
	char resources[PATH_MAX]; /* folder of its own headers */
};

/* Loads the newest libclang that has its compiler beside it. False: `why` says why not. */
bool clang_load(struct clang *c, char why[LIBRARY_WHY]);

#endif
