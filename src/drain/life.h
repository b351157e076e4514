/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling producers at once that the drain is dead: a word in each one's memory is on the drain's robust
 * list, which the kernel goes through when a thread ends, however it ends. The list itself is private:
 * an entry lies in a page before the mapping, at one distance from its word in all of them, because
 * what a program can write must not say what the kernel does in the drain.
 */
#ifndef DRAIN_LIFE_H
#define DRAIN_LIFE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes before a mapping that are its entry's. */
size_t life_page(void);

/* In the thread that drains: words lie `offset` behind the beginning of each mapping. */
void life_begin(size_t offset);

/* `before`: the life_page() bytes before a mapping. */
void life_add(void *before, _Atomic uint32_t *word);
void life_remove(void *before);

#endif
