/* SPDX-License-Identifier: Apache-2.0 */
/* A module of PTX: what stands in it side by side, and what of that a kernel needs. */
#ifndef PTX_MODULE_H
#define PTX_MODULE_H

#include "ptx/scan.h"

enum ptx_item_kind {
	PTX_OTHER,
	PTX_HEAD /* .version ... */,
	PTX_FILE,
	PTX_DEBUG,
	PTX_VARIABLE,
	PTX_FUNCTION,
	PTX_KERNEL
};

struct ptx_item {
	enum ptx_item_kind kind;
	uint32_t start, end;
	uint32_t body;           /* of functions: its opening brace; 0: it is declared only */
	struct ptx_word keyword; /* ".entry", ".global" ... */
	struct ptx_word name;    /* length 0: none */
	bool external, visible;
	bool initialised; /* of variables */
	bool kept;        /* the kernel needs it */
};

struct ptx_file {
	uint32_t number;
	struct ptx_word name; /* without quotes */
};

struct ptx_module {
	char *text; /* without comments */
	uint32_t length;
	struct ptx_item *items;
	uint32_t item_count, item_room;
	uint32_t *by_name; /* of items that have one, sorted */
	uint32_t named;
	struct ptx_file *files; /* sorted by number */
	uint32_t file_count, file_room;
	uint32_t version; /* 8.7: 807 */
	struct ptx_word target;
};

/* NULL: it is read. What is to be released either way. */
const char *ptx_module_read(struct ptx_module *m, const char *text, size_t length);
void ptx_module_release(struct ptx_module *m);

/* Marks what this kernel needs as kept. NULL: the module does not have it. */
struct ptx_item *ptx_module_keep(struct ptx_module *m, const char *kernel);
const struct ptx_file *ptx_module_file(const struct ptx_module *m, uint32_t number);

#endif
