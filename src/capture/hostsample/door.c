/* SPDX-License-Identifier: Apache-2.0 */
/* Announces the samplers of host threads, the better one first. */
#include "capture/hostsample/hostsample.h"

__attribute__((constructor)) static void announce(void)
{
	cap_sampler_register(&perf_sampler);
	cap_sampler_register(&timer_sampler);
}
