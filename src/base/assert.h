/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants of Kymo's own code: what must hold unless Kymo has a bug, never what a program, a file
 * or a runtime may do wrong. Checked where KYMO_ASSERTS is defined (the presets dev and ci, and
 * builds with sanitizers); a release has nothing of them. A violated one ends the process with
 * abort() after the place and the expression on standard error: in a test, that is what must be
 * seen.
 *
 * Not on the path of an event: instruction counts are measured where assertions are on.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#ifdef KYMO_ASSERTS
#define kymo_assert(expression)                                                                    \
	(__builtin_expect(!!(expression), 1)                                                       \
		 ? (void)0                                                                         \
		 : kymo_assert_failed(#expression, __FILE__, __LINE__, __func__))
#else
#define kymo_assert(expression) ((void)sizeof(!(expression))) /* compiled, not evaluated */
#endif

/* Defined in all builds, so that objects of both kinds link. */
void kymo_assert_failed(const char *expression, const char *file, int line, const char *function)
	__attribute__((noreturn, cold));

#endif
