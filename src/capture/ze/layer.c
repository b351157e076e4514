/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of the name of Level Zero's validation layer, for loaders that call their own functions
 * whatever was preloaded (linked with -Bsymbolic-functions, as Ubuntu does). Such a loader asks this
 * layer to change the tables, and finds libkymo's functions here, because this library depends on it.
 */
extern const char kymo_ze_layer[];

const char kymo_ze_layer[] = "Kymo";
