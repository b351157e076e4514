/* SPDX-License-Identifier: Apache-2.0 */
/* A second file of one program uses the same hook. */
#include <kymo/marker.h>

void second_file(void);

void second_file(void)
{
	kymo_range_push("second file");
	kymo_range_pop();
}
