/* SPDX-License-Identifier: Apache-2.0 */
/* The course of a number over the run. */
#ifndef ANALYSIS_CURVE_H
#define ANALYSIS_CURVE_H

enum { CURVE_PARTS = 24 }; /* parts of the run, of equal length */

#endif
