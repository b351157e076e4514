/* SPDX-License-Identifier: Apache-2.0 */
/* The providers of this folder. */
#ifndef CAPTURE_PERF_PROVIDERS_H
#define CAPTURE_PERF_PROVIDERS_H

#include <kymo/counter.h>

extern const kymo_counter_provider_t rusage_provider;

#endif
