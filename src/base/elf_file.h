/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of an object by its file, which has the local ones too, unless it was stripped. */
#ifndef BASE_ELF_FILE_H
#define BASE_ELF_FILE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* One table; the `bytes` of `strings` have the names. True: enough. */
typedef bool elf_table_fn(const ElfW(Sym) * symbols, size_t count, const char *strings,
			  size_t bytes, void *data);

/* Calls `look` with each table of the file. True: it was enough. */
bool elf_file_symbols(const char *path, elf_table_fn *look, void *data);

#endif
