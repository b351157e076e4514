/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bad variant of examples/drum: it waits for the device's part of a step before it computes the
 * host's. Both parts are given a length of their own, so that the cost is known.
 */
#include "../../common/work.h"

#define device_vibrate give_to_device
#define host_vibrate   compute_rows
#include "../../../../examples/drum/device.c"
#include "../../../../examples/drum/host.c"
#undef device_vibrate
#undef host_vibrate

enum { ROWS_TAKE = 5000 };

void device_vibrate(const struct part *p, float *last)
{
	give_to_device(p, last);
#ifndef REPAIRED
	device_wait();
#endif
}

void host_vibrate(const struct part *p)
{
	double begin = now_us();

	compute_rows(p);
	rest_us(ROWS_TAKE - (now_us() - begin));
}
