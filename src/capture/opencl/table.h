/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ways in which a program gets at the functions of OpenCL, and how each is led through
 * thunks: the dispatch table that a loader hands to its layers, and function pointers asked for by
 * name. Any thread may call these functions at any time.
 */
#ifndef CAPTURE_OPENCL_TABLE_H
#define CAPTURE_OPENCL_TABLE_H

#include <stdint.h>

#include "capture/opencl/cl.h"
#include "core/capture.h"

#include "opencl_ops.h"

#define OCL_LOOKUP_OPS 2u

/* An entry of the dispatch table. */
struct ocl_entry {
	int op;         /* -1: not traced */
	void *untraced; /* counts the call and calls on; NULL: the pointer is passed through */
};

/* Drivers with the extension in a version below `before` have the function's older form. */
struct ocl_older {
	char extension[CL_NAME_VERSION_MAX_NAME_SIZE];
	cl_version before;
	unsigned link; /* the first one of the older form */
};

/* A function by its name. */
struct ocl_name {
	uint16_t name;  /* where it is in ocl_name_text */
	int16_t op;     /* -1: not traced */
	uint16_t older; /* number in ocl_olders, from 1 on; 0: it has always been the same */
};

extern const struct ocl_entry ocl_entries[OCL_TABLE_ENTRIES];
extern const struct ocl_older ocl_olders[];
extern const struct ocl_name ocl_names[];
extern const char ocl_name_text[];
extern const unsigned ocl_name_count;
extern const uint16_t ocl_lookup_ops[OCL_LOOKUP_OPS]; /* ops that hand out function pointers */
extern void *ocl_untraced_next[OCL_TABLE_ENTRIES];

/*
 * Fills `ours` with thunks that lead to `target`, the table of the next layer with `entries`
 * entries. What the target lacks stays NULL; entries that Kymo does not know are passed through.
 * To be called once, before any call can come through `ours`.
 */
void ocl_table_install(cl_icd_dispatch *ours, const cl_icd_dispatch *target, unsigned entries);

/* See struct cap_domain_info. */
void ocl_encode(const struct cap_domain_info *info, uint32_t op, const void *args, bool ok,
		struct wire_enc *e);

/* The domain exists from now on: its slots follow what contexts want. */
void ocl_table_attach(struct cap_domain *domain);

/* Tells the intercept service of the table: other tools may put wrappers behind its slots. */
void ocl_table_announce(void);

/*
 * What the program gets instead of `function`, which the next layer handed out under `name`:
 * a thunk if the function can be traced, else the function itself. NULL stays NULL. `platform` is
 * the one the program asked, or NULL.
 */
void *ocl_lookup(cl_platform_id platform, const char *name, void *function);

/* ---- extension.c ---- */

/*
 * The version of an extension in the driver that handed `function` out under `name`; `platform`
 * NULL: the program did not say which one that is. False: the driver does not tell.
 */
bool ocl_extension_version(cl_platform_id platform, const char *extension, const char *name,
			   const void *function, cl_version *version);

#endif
