/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that do work in the program's name: runtimes, which copy and fill with kernels of their own,
 * and libraries of mathematics, learning and communication. Told by the file that a call came from, by the
 * domain of the call, or by the name of a kernel.
 */
#ifndef ANALYSIS_LIBRARIES_H
#define ANALYSIS_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>

struct library {
	const char *name;
	bool passes_on; /* a runtime's own file: who called it is the one that did the work */
};

/* Of a file ("libcublas.so.12"), a domain ("cublas"), a kernel as written in C++; NULL: of none that is known. */
const struct library *library_of_module(const char *file);
const struct library *library_of_domain(const char *domain);
const struct library *library_of_kernel(const char *domain, const char *kernel);

/* Its kernels send to those of other ranks, and wait for them. `l` may be NULL. */
bool library_communicates(const struct library *l);

/* A library by its file's name, known or not; else it is a program. */
bool library_is_shared(const char *file);

#endif
