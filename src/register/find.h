/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding what is on the tool's side of a registration, by name: nothing here is linked. Settings
 * of the environment count only where the program does not run in secure mode.
 */
#ifndef REGISTER_FIND_H
#define REGISTER_FIND_H

#include <stdbool.h>

#define FIND_TOOL_LIBRARY "libkymo.so.1"

/* Set and not empty, outside of secure mode; NULL otherwise. */
const char *find_setting(const char *name);

/* Of a switch: 0, false, off, no and n are false. */
bool find_switch(const char *name, bool otherwise);

/* `symbol` of the whole program, or of Kymo's library if that is loaded. NULL: neither has it. */
void *find_loaded(const char *symbol);

/* `symbol` of the library in which `address` lies, whatever else has one. NULL: it has none. */
void *find_beside(void *address, const char *symbol);

/* Loads `library`: as it is called, then from this library's own folder. NULL: not to be had. */
void *find_library(const char *library);

#endif
