/* SPDX-License-Identifier: Apache-2.0 */
/* HIP's devices, streams and kernels (hip.c), and what its rules call there. */
#ifndef CAPTURE_ROCM_HIP_H
#define CAPTURE_ROCM_HIP_H

#include "capture/rocm/work.h"

void hip_agents_prepare(void);
uint32_t hip_agent(int64_t device); /* id; 0: not a device */
int32_t hip_device(void);           /* the thread's current one */
bool hip_before_6(void);            /* the runtime that registered last is older */
struct rocm_object hip_stream(const struct rocm_call *c);
uint32_t hip_kernel(uint64_t handle);
uint32_t hip_graph_kernel(void);

void hip_set_device(const struct rocm_call *c);
void hip_device_properties(const struct rocm_call *c);
void hip_device_name(const struct rocm_call *c);
void hip_device_pci(const struct rocm_call *c);
void hip_context_created(const struct rocm_call *c);
void hip_context_set(const struct rocm_call *c);
void hip_context_pop(const struct rocm_call *c);
void hip_stream_created(const struct rocm_call *c);
void hip_stream_destroyed(const struct rocm_call *c);
void hip_capture_begin(const struct rocm_call *c);
void hip_capture_end(const struct rocm_call *c);
void hip_wait(const struct rocm_call *c);
void hip_event_recorded(const struct rocm_call *c);
void hip_stream_waits(const struct rocm_call *c);
void hip_program_loaded(const struct rocm_call *c);
void hip_program_unloaded(const struct rocm_call *c);
void hip_kernel_loaded(const struct rocm_call *c);
void hip_kernel_symbol(const struct rocm_call *c);

#endif
