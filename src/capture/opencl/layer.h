/* SPDX-License-Identifier: Apache-2.0 */
/* What the preload library asks the layer, through clGetLayerInfo(). */
#ifndef CAPTURE_OPENCL_LAYER_H
#define CAPTURE_OPENCL_LAYER_H

/* cl_bool: a loader has opened the layer already. */
#define OCL_LAYER_OPEN 0x4b59

#endif
