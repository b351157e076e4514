/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AddressSanitizer's runtime, where it is a library (gcc; clang -shared-libasan), ends a program in
 * which another library comes before it, since that might define what it intercepts. Kymo's preloaded
 * libraries do and define none of it: the runtime is still found first by all who look for its functions.
 * It asks the program for options by this name; one that the program has itself is found before, and
 * `kymo run` says the same in ASAN_OPTIONS then. A runtime that knows no such option passes over it.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
