/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions in kernels, for OpenCL C and CUDA C: pieces of a kernel with a name, which `kymo run --handlers blocks` counts and times.
 *
 *	KYMO_REGION_BEGIN(load);
 *	...
 *	KYMO_REGION_END(load);
 *
 * They are nothing at all in OpenCL C but in the instrumented kernel that Kymo makes. In the PTX of CUDA they declare a register that
 * nothing uses, of which no code comes; the compiler moves no access to memory across them. A work item ends a region that it has begun;
 * regions may lie in each other. A name is a word, in OpenCL C also a text in quotes. Programs whose kernels cannot include a file take
 * these lines over:
 *
 *	#ifndef KYMO_REGION_BEGIN
 *	#define KYMO_REGION_BEGIN(name)
 *	#define KYMO_REGION_END(name)
 *	#endif
 *
 * Since 0.1.
 */
#ifndef KYMO_KERNEL_H
#define KYMO_KERNEL_H

#ifndef KYMO_REGION_BEGIN
#if defined(__CUDA_ARCH__)
#define KYMO_REGION_BEGIN(name) __asm__ volatile("{.reg .pred kymo_begin_" #name ";}" ::: "memory")
#define KYMO_REGION_END(name)   __asm__ volatile("{.reg .pred kymo_end_" #name ";}" ::: "memory")
#else
#define KYMO_REGION_BEGIN(name)
#define KYMO_REGION_END(name)
#endif
#endif

#endif
