/* SPDX-License-Identifier: Apache-2.0 */
/* Kymo's interface for tools and runtimes. */
#ifndef KYMO_KYMO_H
#define KYMO_KYMO_H

#include <kymo/agent.h>
#include <kymo/schema.h>
#include <kymo/status.h>
#include <kymo/tool.h>

#endif
