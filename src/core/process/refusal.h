/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why something was refused, last, to the calling thread: texts that few threads ever have. They are not
 * thread-local memory: of that a library which a running program loads gets but some hundred bytes.
 */
#ifndef CORE_PROCESS_REFUSAL_H
#define CORE_PROCESS_REFUSAL_H

#define REFUSAL_SIZE 256u

enum refusal { REFUSAL_OF_COUNTER, REFUSAL_OF_SAMPLE, REFUSALS };

void core_refusal_set(enum refusal which, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Never NULL. */
const char *core_refusal(enum refusal which);

#endif
