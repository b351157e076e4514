/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OCCA's functions that Kymo stands before, by the names that the C++ compiler gave them (Itanium ABI, libstdc++
 * with its C++11 strings). They are tied to OCCA's version: those that a libocca lacks are told, the others work.
 *
 * W(id, symbol): replaced by a function of wrap.c. A function that returns an object of a class has the place
 * for it as its first argument, and `this` as its second.
 * N(id, symbol): as it is, but it is noted who calls it: what it calls of the above is that caller's.
 * A(id, symbol): called by Kymo itself, to ask for names.
 */
#ifndef CAPTURE_OCCA_FUNCTIONS_H
#define CAPTURE_OCCA_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OCCA_STRING "RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define OCCA_JSON   "RKNS_4jsonE"

#define OCCA_WRAPPED(W)                                                                            \
	W(SETUP, "_ZN4occa6device5setupERKNS_4jsonE")                                              \
	W(SETUP_STRING, "_ZN4occa6device5setupE" OCCA_STRING)                                      \
	W(HOST, "_ZN4occa4hostEv")                                                                 \
	W(DEFAULT_DEVICE, "_ZN4occa9getDeviceEv")                                                  \
	W(DEVICE_FREE, "_ZN4occa6device4freeEv")                                                   \
	W(DEVICE_FINISH, "_ZN4occa6device6finishEv")                                               \
	W(DEVICE_FINISH_ALL, "_ZN4occa6device9finishAllEv")                                        \
	W(CREATE_STREAM, "_ZN4occa6device12createStreamERKNS_4jsonE")                              \
	W(WRAP_STREAM, "_ZN4occa6device10wrapStreamEPvRKNS_4jsonE")                                \
	W(SET_STREAM, "_ZN4occa6device9setStreamENS_6streamE")                                     \
	W(TAG_STREAM, "_ZN4occa6device9tagStreamEv")                                               \
	W(WAIT_FOR, "_ZN4occa6device7waitForENS_9streamTagE")                                      \
	W(TIME_BETWEEN, "_ZN4occa6device11timeBetweenERKNS_9streamTagES3_")                        \
	W(BUILD, "_ZNK4occa6device11buildKernelE" OCCA_STRING "S8_" OCCA_JSON)                     \
	W(BUILD_STRING, "_ZNK4occa6device21buildKernelFromStringE" OCCA_STRING "S8_" OCCA_JSON)    \
	W(BUILD_BINARY, "_ZNK4occa6device21buildKernelFromBinaryE" OCCA_STRING "S8_" OCCA_JSON)    \
	W(MALLOC, "_ZN4occa6device6mallocElRKNS_7dtype_tEPKvRKNS_4jsonE")                          \
	W(MALLOC_LIKE, "_ZN4occa6device6mallocElRKNS_7dtype_tENS_6memoryERKNS_4jsonE")             \
	W(MALLOC_EMPTY, "_ZN4occa6device6mallocElRKNS_7dtype_tERKNS_4jsonE")                       \
	W(MALLOC_BYTES, "_ZN4occa6device6mallocIvEENS_6memoryElPKvRKNS_4jsonE")                    \
	W(MALLOC_BYTES_LIKE, "_ZN4occa6device6mallocIvEENS_6memoryElS2_RKNS_4jsonE")               \
	W(MALLOC_BYTES_EMPTY, "_ZN4occa6device6mallocIvEENS_6memoryElRKNS_4jsonE")                 \
	W(WRAP_MEMORY, "_ZN4occa6device10wrapMemoryEPKvlRKNS_7dtype_tERKNS_4jsonE")                \
	W(WRAP_MEMORY_BYTES, "_ZN4occa6device10wrapMemoryIvEENS_6memoryEPKT_lRKNS_4jsonE")         \
	W(CREATE_POOL, "_ZN4occa6device16createMemoryPoolERKNS_4jsonE")                            \
	W(RUN, "_ZNK4occa6kernel3runEv")                                                           \
	W(RUN_HOST_LEAF, "_ZNK4occa6serial6kernel3runEv")                                          \
	W(RUN_DEVICE_LEAF, "_ZNK4occa20launchedModeKernel_t3runEv")                                \
	W(KERNEL_FREE, "_ZN4occa6kernel4freeEv")                                                   \
	W(COPY_FROM, "_ZN4occa6memory8copyFromEPKvllRKNS_4jsonE")                                  \
	W(COPY_FROM_ALL, "_ZN4occa6memory8copyFromEPKvRKNS_4jsonE")                                \
	W(COPY_FROM_MEMORY, "_ZN4occa6memory8copyFromES0_lllRKNS_4jsonE")                          \
	W(COPY_FROM_MEMORY_ALL, "_ZN4occa6memory8copyFromES0_RKNS_4jsonE")                         \
	W(COPY_TO, "_ZNK4occa6memory6copyToEPvllRKNS_4jsonE")                                      \
	W(COPY_TO_ALL, "_ZNK4occa6memory6copyToEPvRKNS_4jsonE")                                    \
	W(COPY_TO_MEMORY, "_ZNK4occa6memory6copyToES0_lllRKNS_4jsonE")                             \
	W(COPY_TO_MEMORY_ALL, "_ZNK4occa6memory6copyToES0_RKNS_4jsonE")                            \
	W(MEMORY_FREE, "_ZN4occa6memory4freeEv")                                                   \
	W(MEMORY_DETACH, "_ZN4occa6memory6detachEv")                                               \
	W(POOL_RESERVE, "_ZN4occa10memoryPool7reserveElRKNS_7dtype_tE")                            \
	W(POOL_RESERVE_BYTES, "_ZN4occa10memoryPool7reserveIvEENS_6memoryEl")                      \
	W(POOL_RESIZE, "_ZN4occa10memoryPool6resizeEm")                                            \
	W(POOL_SHRINK, "_ZN4occa10memoryPool11shrinkToFitEv")                                      \
	W(POOL_ALIGN, "_ZN4occa10memoryPool12setAlignmentEm")                                      \
	W(POOL_FREE, "_ZN4occa10memoryPool4freeEv")                                                \
	W(STREAM_FINISH, "_ZN4occa6stream6finishEv")                                               \
	W(STREAM_FREE, "_ZN4occa6stream4freeEv")                                                   \
	W(BUFFER_BORN, "_ZN4occa12modeBuffer_tC2EPNS_12modeDevice_tEmRKNS_4jsonE")                 \
	W(BUFFER_DIES, "_ZN4occa12modeBuffer_tD2Ev")                                               \
	W(BUFFER_SERIAL, "_ZN4occa6serial6buffer6mallocEm")                                        \
	W(BUFFER_OPENCL, "_ZN4occa6opencl6buffer6mallocEm")                                        \
	W(BUFFER_CUDA, "_ZN4occa4cuda6buffer6mallocEm")                                            \
	W(BUFFER_HIP, "_ZN4occa3hip6buffer6mallocEm")                                              \
	W(BUFFER_DPCPP, "_ZN4occa5dpcpp6buffer6mallocEm")                                          \
	W(HOST_COPY_FROM, "_ZN4occa6serial6memory8copyFromEPKvmmRKNS_4jsonE")                      \
	W(HOST_COPY, "_ZN4occa6serial6memory8copyFromEPKNS_12modeMemory_tEmmmRKNS_4jsonE")         \
	W(HOST_COPY_TO, "_ZNK4occa6serial6memory6copyToEPvmmRKNS_4jsonE")                          \
	W(SET_ARGUMENTS, "_ZN4occa12modeKernel_t12setArgumentsEPNS_9kernelArgEi")                  \
	W(PUSH_ARGUMENT, "_ZN4occa12modeKernel_t12pushArgumentERKNS_9kernelArgE")                  \
	W(CLEAR_ARGUMENTS, "_ZN4occa6kernel9clearArgsEv")

/* What OCCA frees when the last reference to it goes, nobody has freed. */
#define OCCA_LETS_GO(id) ((id) >= OCCA_DEVICE_GONE && (id) <= OCCA_STREAM_ASSIGNED)

/* Of modes that a libocca may have been built without. */
#define OCCA_OPTIONAL(id)                                                                          \
	(((id) >= OCCA_BUFFER_OPENCL && (id) <= OCCA_BUFFER_DPCPP) || (id) == OCCA_ASK_NUMBER)

#define OCCA_NOTED(N)                                                                              \
	N(CALL_0, "_ZNK4occa6kernelclEv")                                                          \
	N(RUN_LIST, "_ZNK4occa6kernel3runESt16initializer_listINS_9kernelArgEE")                   \
	N(BUILDER_RUN, "_ZN4occa13kernelBuilder3runERKNS_5scopeE")                                 \
	N(BUILDER_BUILD, "_ZN4occa13kernelBuilder16getOrBuildKernelERKNS_5scopeE")                 \
	N(DEVICE_OF_JSON, "_ZN4occa6deviceC1ERKNS_4jsonE")                                         \
	N(DEVICE_OF_STRING, "_ZN4occa6deviceC1E" OCCA_STRING)                                      \
	N(DEVICE_OF_LIST, "_ZN4occa6deviceC1ESt16initializer_listINS_12jsonKeyValueEE")            \
	N(DEVICE_GONE, "_ZN4occa6deviceD1Ev")                                                      \
	N(DEVICE_ASSIGNED, "_ZN4occa6deviceaSERKS0_")                                              \
	N(KERNEL_GONE, "_ZN4occa6kernelD1Ev")                                                      \
	N(KERNEL_ASSIGNED, "_ZN4occa6kernelaSERKS0_")                                              \
	N(MEMORY_GONE, "_ZN4occa6memoryD1Ev")                                                      \
	N(MEMORY_ASSIGNED, "_ZN4occa6memoryaSERKS0_")                                              \
	N(POOL_GONE, "_ZN4occa10memoryPoolD1Ev")                                                   \
	N(POOL_ASSIGNED, "_ZN4occa10memoryPoolaSERKS0_")                                           \
	N(STREAM_GONE, "_ZN4occa6streamD1Ev")                                                      \
	N(STREAM_ASSIGNED, "_ZN4occa6streamaSERKS0_")                                              \
	N(MEMORY_CLONED, "_ZNK4occa6memory5cloneEv")                                               \
	N(TAG_WAIT, "_ZNK4occa9streamTag4waitEv")                                                  \
	N(SET_DEVICE, "_ZN4occa9setDeviceENS_6deviceE")                                            \
	N(SET_DEVICE_JSON, "_ZN4occa9setDeviceERKNS_4jsonE")                                       \
	N(SET_DEVICE_STRING, "_ZN4occa9setDeviceE" OCCA_STRING)                                    \
	N(SET_DEVICE_LIST, "_ZN4occa9setDeviceESt16initializer_listINS_12jsonKeyValueEE")          \
	N(OF_FINISH, "_ZN4occa6finishEv")                                                          \
	N(OF_WAIT_FOR, "_ZN4occa7waitForENS_9streamTagE")                                          \
	N(OF_TIME_BETWEEN, "_ZN4occa11timeBetweenERKNS_9streamTagES2_")                            \
	N(OF_CREATE_STREAM, "_ZN4occa12createStreamERKNS_4jsonE")                                  \
	N(OF_SET_STREAM, "_ZN4occa9setStreamENS_6streamE")                                         \
	N(OF_TAG_STREAM, "_ZN4occa9tagStreamEv")                                                   \
	N(OF_CREATE_POOL, "_ZN4occa16createMemoryPoolERKNS_4jsonE")                                \
	N(OF_BUILD, "_ZN4occa11buildKernelE" OCCA_STRING "S7_" OCCA_JSON)                          \
	N(OF_BUILD_STRING, "_ZN4occa21buildKernelFromStringE" OCCA_STRING "S7_" OCCA_JSON)         \
	N(OF_BUILD_BINARY, "_ZN4occa21buildKernelFromBinaryE" OCCA_STRING "S7_" OCCA_JSON)         \
	N(OF_MALLOC, "_ZN4occa6mallocElRKNS_7dtype_tEPKvRKNS_4jsonE")                              \
	N(OF_MALLOC_BYTES, "_ZN4occa6mallocIvEENS_6memoryElPKvRKNS_4jsonE")                        \
	N(OF_WRAP, "_ZN4occa10wrapMemoryEPKvlRKNS_7dtype_tERKNS_4jsonE")                           \
	N(OF_WRAP_BYTES, "_ZN4occa10wrapMemoryIvEENS_6memoryEPKT_lRKNS_4jsonE")                    \
	N(OF_COPY_FROM, "_ZN4occa6memcpyENS_6memoryEPKvllRKNS_4jsonE")                             \
	N(OF_COPY_FROM_ALL, "_ZN4occa6memcpyENS_6memoryEPKvRKNS_4jsonE")                           \
	N(OF_COPY_TO, "_ZN4occa6memcpyEPvNS_6memoryEllRKNS_4jsonE")                                \
	N(OF_COPY_TO_ALL, "_ZN4occa6memcpyEPvNS_6memoryERKNS_4jsonE")                              \
	N(OF_COPY, "_ZN4occa6memcpyENS_6memoryES0_lllRKNS_4jsonE")                                 \
	N(OF_COPY_ALL, "_ZN4occa6memcpyENS_6memoryES0_RKNS_4jsonE")                                \
	N(OF_FREE_DEVICE, "_ZN4occa4freeENS_6deviceE")                                             \
	N(OF_FREE_STREAM, "_ZN4occa4freeENS_6streamE")                                             \
	N(OF_FREE_KERNEL, "_ZN4occa4freeENS_6kernelE")                                             \
	N(OF_FREE_MEMORY, "_ZN4occa4freeENS_6memoryE")                                             \
	OCCA_NOTED_C(N)

/* The C API, which is built on the C++ one. */
#define OCCA_NOTED_C(N)                                                                            \
	N(C_0, "occaCreateDevice")                                                                 \
	N(C_1, "occaCreateDeviceFromString")                                                       \
	N(C_2, "occaSetDevice")                                                                    \
	N(C_3, "occaSetDeviceFromString")                                                          \
	N(C_4, "occaFree")                                                                         \
	N(C_5, "occaFinish")                                                                       \
	N(C_6, "occaDeviceFinish")                                                                 \
	N(C_7, "occaDeviceFinishAll")                                                              \
	N(C_8, "occaStreamFinish")                                                                 \
	N(C_9, "occaCreateStream")                                                                 \
	N(C_10, "occaDeviceCreateStream")                                                          \
	N(C_11, "occaSetStream")                                                                   \
	N(C_12, "occaDeviceSetStream")                                                             \
	N(C_13, "occaTagStream")                                                                   \
	N(C_14, "occaDeviceTagStream")                                                             \
	N(C_15, "occaWaitForTag")                                                                  \
	N(C_16, "occaDeviceWaitForTag")                                                            \
	N(C_17, "occaTimeBetweenTags")                                                             \
	N(C_18, "occaDeviceTimeBetweenTags")                                                       \
	N(C_19, "occaBuildKernel")                                                                 \
	N(C_20, "occaBuildKernelFromString")                                                       \
	N(C_21, "occaBuildKernelFromBinary")                                                       \
	N(C_22, "occaDeviceBuildKernel")                                                           \
	N(C_23, "occaDeviceBuildKernelFromString")                                                 \
	N(C_24, "occaDeviceBuildKernelFromBinary")                                                 \
	N(C_25, "occaMalloc")                                                                      \
	N(C_26, "occaTypedMalloc")                                                                 \
	N(C_27, "occaDeviceMalloc")                                                                \
	N(C_28, "occaDeviceTypedMalloc")                                                           \
	N(C_29, "occaWrapMemory")                                                                  \
	N(C_30, "occaTypedWrapMemory")                                                             \
	N(C_31, "occaDeviceWrapMemory")                                                            \
	N(C_32, "occaDeviceTypedWrapMemory")                                                       \
	N(C_33, "occaMemoryClone")                                                                 \
	N(C_34, "occaMemoryDetach")                                                                \
	N(C_35, "occaCopyPtrToMem")                                                                \
	N(C_36, "occaCopyMemToPtr")                                                                \
	N(C_37, "occaCopyMemToMem")                                                                \
	N(C_38, "occaCreateMemoryPool")                                                            \
	N(C_39, "occaDeviceCreateMemoryPool")                                                      \
	N(C_40, "occaMemoryPoolReserve")                                                           \
	N(C_41, "occaMemoryPoolTypedReserve")                                                      \
	N(C_42, "occaMemoryPoolResize")                                                            \
	N(C_43, "occaMemoryPoolShrinkToFit")                                                       \
	N(C_44, "occaMemoryPoolSetAlignment")                                                      \
	N(C_45, "occaKernelRunN")                                                                  \
	N(C_46, "occaKernelVaRun")                                                                 \
	N(C_47, "occaKernelRunWithArgs")                                                           \
	N(C_48, "occaKernelRunFromArgs")                                                           \
	N(C_49, "occaKernelBuilderRun")

/* occa::kernel::operator() of 1 to OCCA_CALLS arguments follow: noted, too. */
#define OCCA_CALLS     128
#define OCCA_CALL_1    "_ZNK4occa6kernelclERKNS_9kernelArgE"
#define OCCA_CALL_MORE "S3_"

#define OCCA_ASKED(A)                                                                              \
	A(ASK_MODE, "_ZNK4occa6device4modeB5cxx11Ev")                                              \
	A(ASK_DEVICE, "_ZNK4occa6device13getModeDeviceEv")                                         \
	A(ASK_KERNEL, "_ZNK4occa6kernel13getModeKernelEv")                                         \
	A(ASK_KERNEL_NAME, "_ZN4occa6kernel4nameB5cxx11Ev")                                        \
	A(ASK_KERNEL_SOURCE, "_ZN4occa6kernel14sourceFilenameB5cxx11Ev")                           \
	A(ASK_KERNEL_MODE, "_ZNK4occa6kernel4modeB5cxx11Ev")                                       \
	A(ASK_MEMORY, "_ZNK4occa6memory13getModeMemoryEv")                                         \
	A(ASK_MEMORY_DEVICE, "_ZNK4occa6memory13getModeDeviceEv")                                  \
	A(ASK_MEMORY_BYTES, "_ZNK4occa6memory9byte_sizeEv")                                        \
	A(ASK_MEMORY_TYPE, "_ZNK4occa6memory5dtypeEv")                                             \
	A(ASK_TYPE_BYTES, "_ZNK4occa7dtype_t5bytesEv")                                             \
	A(ASK_STREAM, "_ZNK4occa6stream13getModeStreamEv")                                         \
	A(ASK_STREAM_DEVICE, "_ZNK4occa6stream13getModeDeviceEv")                                  \
	A(ASK_POOL, "_ZNK4occa10memoryPool17getModeMemoryPoolEv")                                  \
	A(ASK_POOL_DEVICE, "_ZNK4occa10memoryPool13getModeDeviceEv")                               \
	A(ASK_POOL_BYTES, "_ZNK4occa10memoryPool4sizeEv")                                          \
	A(ASK_ARGUMENTS, "_ZNK4occa9kernelArg4sizeEv")                                             \
	A(ASK_ARGUMENT, "_ZNK4occa9kernelArgixEi")                                                 \
	A(ASK_ARGUMENT_MEMORY, "_ZNK4occa13kernelArgData13getModeMemoryEv")                        \
	A(ASK_PROPERTIES, "_ZNK4occa6device10propertiesEv")                                        \
	A(ASK_NUMBER, "_ZNK4occa4json3getIiEET_PKcRKS2_")                                          \
	A(ASK_FLAG, "_ZNK4occa4json3getIbEET_PKcRKS2_")

#define OCCA_NUMBER(id, symbol) OCCA_##id,
enum occa_function {
	OCCA_WRAPPED(OCCA_NUMBER) OCCA_FIRST_NOTED,
	OCCA_BEFORE_NOTED = OCCA_FIRST_NOTED - 1,
	OCCA_NOTED(OCCA_NUMBER) OCCA_CALL,
	OCCA_THUNKS = OCCA_CALL + OCCA_CALLS,
	OCCA_BEFORE_ASKED = OCCA_THUNKS - 1,
	OCCA_ASKED(OCCA_NUMBER) OCCA_FUNCTIONS
};
#undef OCCA_NUMBER

/*
 * libkymo's side (wrap.c). `real`: OCCA_FUNCTIONS functions, NULL: missing. Fills the entries of the functions that
 * are replaced. False: nothing is recorded, and the door stands open.
 */
#define OCCA_THREAD_BYTES 1024
struct occa_door {
	void *const *real;
	void *_Atomic *entries;
	/*
	 * Memory of the calling thread, zero at first, which begins with a struct occa_note: the door has it, for
	 * libkymo may be loaded late, when there is hardly room for any.
	 */
	void *(*thread)(void);
	/* libocca's code; functions called from there are not noted. Written before true is returned. */
	uintptr_t *code_begin, *code_bytes;
};
bool kymo_occa_open(const struct occa_door *door);

/* The noted function that was called last. Its return address, and where on the stack that is: */
struct occa_note {
	const void *const *place;
	const void *caller;
	uint32_t function;
};

#endif
