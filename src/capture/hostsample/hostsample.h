/* SPDX-License-Identifier: Apache-2.0 */
/* The samplers of host threads. */
#ifndef CAPTURE_HOSTSAMPLE_HOSTSAMPLE_H
#define CAPTURE_HOSTSAMPLE_HOSTSAMPLE_H

#include "core/sample/helper.h"
#include "core/sample/sample.h"

extern const struct cap_sampler perf_sampler, timer_sampler;

#endif
