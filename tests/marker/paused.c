/* SPDX-License-Identifier: Apache-2.0 */
/* Of a recording that starts paused: only what comes after resume is in it. */
#include <kymo/marker.h>

int main(void)
{
	kymo_range_push("whole");
	kymo_mark("before");
	kymo_resume();
	kymo_mark("after");
	kymo_range_push("inside");
	kymo_range_pop();
	kymo_pause();
	kymo_mark("paused again");
	return 0;
}
