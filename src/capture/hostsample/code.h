/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where code is mapped. Frame pointers lead astray in code that was built without them: a chain of
 * return addresses ends where one is not code.
 */
#ifndef CAPTURE_HOSTSAMPLE_CODE_H
#define CAPTURE_HOSTSAMPLE_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* How many of `addresses` can be meant; the first always. By one thread at a time. */
uint32_t code_chain(const uint64_t *addresses, uint32_t count);
/* Puts what stands for functions of generated code (jit.h) in place of their addresses, as they were at a time. */
void code_name(uint64_t *addresses, uint32_t count, uint64_t time);

#endif
