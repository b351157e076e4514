/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake of the driver's functions that Kymo calls to run twins. Device memory is the program's own. A module is its text; the one kernel that
 * there is adds one to each of `n` words: params are their address and n. A twin does so too, and counts each thread once in every block; of every site
 * with an address each thread makes one record, at `4 * item * FAKE_STRIDE`. FAKE_REFUSE=load: no module that counts is taken.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "fake_driver.h"

enum { SLOTS = 1, BLOCKS, OWN_SLOTS, ROOM, RECORDED, RECORDS_AT, GROUPS, HEAD };
enum { INVALID_VALUE = 1, INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500 };

struct module {
	char *text;
	uint64_t context;  /* of twins: where they count */
	uint32_t variable; /* "level" */
	struct fake_function function;
};

static struct {
	uint64_t address;
	size_t bytes;
} allocated[256];
static unsigned runs, twins;

unsigned fake_twins(void)
{
	return twins;
}

static int number(const char *name, int otherwise)
{
	const char *v = getenv(name);

	return v ? atoi(v) : otherwise;
}

/* ---- what the program and Kymo call ---- */

int cuCtxSetCurrent(void *context)
{
	return 0;
}

int cuCtxSynchronize(void)
{
	return 0;
}

int cuCtxGetDevice(int *device)
{
	*device = 0;
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	*value = attribute == 75 ? 9 : 0;
	return 0;
}

int cuGetErrorName(int result, const char **name)
{
	*name = "CUDA_ERROR_OF_THE_FAKE";
	return 0;
}

int cuStreamIsCapturing(void *stream, int *status)
{
	*status = stream == (void *)0x77;
	return 0;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned n, const int *options,
		       void **values)
{
	const bool counts = strstr(image, "kymo_context") != NULL;
	struct module *m;

	if (counts && getenv("FAKE_REFUSE") && n == 2) {
		snprintf(values[0], (size_t)(uintptr_t)values[1],
			 "ptxas application ptx input, line 7; error   : as it was told\n");
		return INVALID_PTX;
	}
	m = calloc(1, sizeof(*m));
	m->text = strdup(image);
	m->function.module = m;
	m->function.counts = counts;
	*module = m;
	return 0;
}

int cuModuleUnload(void *module)
{
	return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	struct module *m = module;

	*function = &m->function;
	return strstr(m->text, name) ? 0 : NOT_FOUND;
}

int cuModuleGetGlobal_v2(uint64_t *at, size_t *bytes, void *module, const char *name)
{
	struct module *m = module;

	if (strcmp(name, "kymo_context") == 0) {
		*at = (uintptr_t)&m->context;
		*bytes = sizeof(m->context);
		return 0;
	}
	*at = (uintptr_t)&m->variable;
	*bytes = sizeof(m->variable);
	return strcmp(name, "level") == 0 ? 0 : NOT_FOUND;
}

int cuFuncGetModule(void **module, void *function)
{
	*module = ((struct fake_function *)function)->module;
	return *module ? 0 : INVALID_HANDLE;
}

int cuKernelGetFunction(void **function, void *kernel)
{
	*function = ((struct fake_function *)kernel)->plain;
	return *function ? 0 : INVALID_HANDLE;
}

int cuLibraryGetModule(void **module, void *library)
{
	*module = ((struct fake_library *)library)->module;
	return 0;
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
	*value = 49152;
	return 0;
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
	return 0;
}

int cuFuncGetParamInfo(void *function, size_t i, size_t *offset, size_t *bytes)
{
	if (!((struct fake_function *)function)->module)
		return INVALID_HANDLE;
	*offset = 8 * i;
	*bytes = i ? 4 : 8;
	return i < 2 ? 0 : INVALID_VALUE;
}

int cuMemAlloc_v2(uint64_t *at, size_t bytes)
{
	unsigned i = 0;

	*at = (uintptr_t)calloc(1, bytes);
	while (i < 255 && allocated[i].address)
		i++;
	allocated[i].address = *at;
	allocated[i].bytes = bytes;
	return 0;
}

int cuMemFree_v2(uint64_t at)
{
	for (unsigned i = 0; i < 256; i++)
		if (allocated[i].address == at)
			allocated[i].address = 0;
	free((void *)(uintptr_t)at);
	return 0;
}

int cuMemGetInfo_v2(size_t *left, size_t *total)
{
	*left = *total = (size_t)number("FAKE_MEMORY", 1 << 30);
	return 0;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t at)
{
	for (unsigned i = 0; i < 256; i++)
		if (allocated[i].address && at - allocated[i].address < allocated[i].bytes) {
			*base = allocated[i].address;
			*bytes = allocated[i].bytes;
			return 0;
		}
	return INVALID_VALUE;
}

int cuMemcpy(uint64_t to, uint64_t from, size_t bytes)
{
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
	return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	return cuMemcpy((uintptr_t)to, from, bytes);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	return cuMemcpy(to, (uintptr_t)from, bytes);
}

/* ---- kernels ---- */

/* "site N ..." is not in the text: records are of the sites whose code is there, by what it moves to the record. */
static bool next_site(const char **at, unsigned *site)
{
	static const char code[] = "mov.u32 %kymo_x, ";

	*at = strstr(*at, code);
	if (!*at)
		return false;
	*at += sizeof(code) - 1;
	*site = (unsigned)strtoul(*at, NULL, 10);
	return true;
}

static void record(uint64_t *c, unsigned site, unsigned group, unsigned item)
{
	const unsigned first = (unsigned)c[GROUPS], many = (unsigned)(c[GROUPS] >> 32);
	const uint64_t at = c[RECORDED];
	uint64_t *r = c + c[RECORDS_AT] + 4 * at;

	if (many && group - first >= many)
		return;
	c[RECORDED]++;
	if (at >= c[ROOM])
		return;
	r[0] = site | (uint64_t)group << 32;
	r[1] = item;
	r[2] = 4ull * item * (unsigned)number("FAKE_STRIDE", 1);
	r[3] = at + 1;
}

static void count(const struct module *m, unsigned groups, unsigned items)
{
	uint64_t *c = (uint64_t *)(uintptr_t)m->context;
	unsigned site;

	twins++;
	for (uint64_t b = 0; b < c[BLOCKS]; b++)
		c[HEAD + (b % c[SLOTS]) * c[BLOCKS] + b] += (uint64_t)groups * items;
	for (unsigned g = 0; g < groups; g++)
		for (const char *at = m->text; next_site(&at, &site);)
			for (unsigned i = 0; i < items; i++)
				record(c, site, g, i);
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	const struct fake_function *f = function;
	uint32_t *words, n;
	uint64_t at;

	memcpy(&at, params[0], sizeof(at));
	memcpy(&n, params[1], sizeof(n));
	words = (uint32_t *)(uintptr_t)at;
	if (f->plain)
		f = f->plain;
	for (uint32_t i = 0; i < n; i++)
		words[i]++;
	runs++;
	if (f->counts)
		count(f->module, gx * gy * gz, bx * by * bz);
	return 0;
}
