/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for AMD's older libroctx64.so.4: what it exports, to be linked with roctx_amd.map. With
 * ROCTX_PROGRAM the program that was linked with it, and asks for its functions under their
 * version.
 */
#include <stdint.h>

uint32_t roctx_version_major(void);
uint32_t roctx_version_minor(void);
void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);
void roctxRegisterTracerCallback(int (*function)(int domain, uint32_t op, void *data));

#ifdef ROCTX_PROGRAM
#include <stdio.h>

static int tell(int domain, uint32_t op, void *data)
{
	printf(" (told of %u: %s)", op, (const char *)data);
	return 0;
}

int main(void)
{
	roctxRegisterTracerCallback(tell);
	printf("version %u.%u\n", roctx_version_major(), roctx_version_minor());
	printf("levels %d", roctxRangePushA("outer"));
	printf(" %d", roctxRangePushA("inner"));
	roctxMarkA("here");
	printf(" %d", roctxRangePop());
	printf(" %d\n", roctxRangePop());
	roctxRangeStop(roctxRangeStartA("across"));
	return 0;
}
#else
static int (*told)(int domain, uint32_t op, void *data);
static int level;

uint32_t roctx_version_major(void)
{
	return 4;
}

uint32_t roctx_version_minor(void)
{
	return 3;
}

void roctxMarkA(const char *message)
{
	if (told)
		told(1, 7, (void *)(uintptr_t)message);
}

int roctxRangePushA(const char *message)
{
	return level++;
}

int roctxRangePop(void)
{
	return level ? --level : -1;
}

uint64_t roctxRangeStartA(const char *message)
{
	return 1;
}

void roctxRangeStop(uint64_t id)
{
}

void roctxRegisterTracerCallback(int (*function)(int domain, uint32_t op, void *data))
{
	told = function;
}
#endif
