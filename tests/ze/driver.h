/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the scripted driver's parts, and by the program's generated one. */
#ifndef TESTS_ZE_DRIVER_H
#define TESTS_ZE_DRIVER_H

#include <string.h>

/* Calls each function once that the driver does not script; returns how many. */
unsigned call_all(void);

#endif
