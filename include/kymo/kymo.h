/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kymo's interface for tools: all of it. Programs that annotate themselves include <kymo/marker.h>
 * alone, runtimes that want to be seen <kymo/register.h>; neither needs this.
 */
#ifndef KYMO_KYMO_H
#define KYMO_KYMO_H

#include <kymo/agent.h>
#include <kymo/answer.h>
#include <kymo/counter.h>
#include <kymo/handler.h>
#include <kymo/intercept.h>
#include <kymo/publish.h>
#include <kymo/sample.h>
#include <kymo/schema.h>
#include <kymo/status.h>
#include <kymo/tool.h>

#endif
