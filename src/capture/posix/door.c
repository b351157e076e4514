/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-posix.so: preloaded where the domain "posix" is named. It stands before the C library's functions of files and
 * sockets; what the C library calls inside its own functions does not come here, nor does what Kymo calls.
 */
#include "capture/posix/door.h"

DOOR_STATE(posix)

__attribute__((constructor)) static void loaded(void)
{
	door_open(kymo_posix_start);
}
