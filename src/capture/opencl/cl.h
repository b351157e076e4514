/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vendor's headers as this backend sees them: OpenCL 3.0 with everything deprecated, because
 * programs still call it.
 */
#ifndef CAPTURE_OPENCL_CL_H
#define CAPTURE_OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_ENABLE_BETA_EXTENSIONS
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_egl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

/* Gone from newer headers, not from older drivers. */
struct _cl_mutable_base_config_khr;

/* Of cl_khr_command_buffer 0.9.6; older headers lack it. */
#ifndef CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR
#define CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR 0x129A
#endif

#endif
