/* SPDX-License-Identifier: Apache-2.0 */
/* The bus for programs whose sources know nothing of it. */
#include "bus.h"
