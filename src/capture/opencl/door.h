/* SPDX-License-Identifier: Apache-2.0 */
/* What the preload library asks the layer, through clGetLayerInfo(). */
#ifndef CAPTURE_OPENCL_DOOR_H
#define CAPTURE_OPENCL_DOOR_H

/*
 * Asked before and after a call that is made only to have the loader initialise itself; the call is
 * not traced. cl_bool: a loader has opened the layer.
 */
#define OCL_LAYER_PROBE_BEGIN 0x4b59
#define OCL_LAYER_PROBE_END   0x4b5a

#endif
