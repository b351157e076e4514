/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes of every Kymo interface. Codes and texts come from the one list below; a code never
 * changes its number, new ones are appended.
 */
#ifndef KYMO_STATUS_H
#define KYMO_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_STATUS_MAP(X)                                                                         \
	X(OK, 0, "success")                                                                        \
	X(ERROR_INVALID_ARGUMENT, -1, "an argument is null, out of range or of the wrong size")    \
	X(ERROR_NO_MEMORY, -2, "memory could not be obtained")                                     \
	X(ERROR_NOT_FOUND, -3, "no object of that name or handle exists")                          \
	X(ERROR_EXISTS, -4, "an object of that name exists already")                               \
	X(ERROR_LIMIT, -5, "a stated limit is reached")                                            \
	X(ERROR_STATE, -6, "the call is not allowed in the present state")                         \
	X(ERROR_BUSY, -7, "the object is in use; try again")                                       \
	X(ERROR_TIMEOUT, -8, "the time given ran out")                                             \
	X(ERROR_INCOMPATIBLE, -9, "version or size of an interface does not match")                \
	X(ERROR_UNSUPPORTED, -10, "not supported here")                                            \
	X(ERROR_FINALIZED, -11, "Kymo has been finalised in this process")                         \
	X(ERROR_SYSTEM, -12, "a system call failed; errno tells why")                              \
	X(ERROR_CORRUPT, -13, "data are damaged or foreign")

typedef enum kymo_status {
#define KYMO_STATUS_ENTRY(name, value, text) KYMO_##name = value,
	KYMO_STATUS_MAP(KYMO_STATUS_ENTRY)
#undef KYMO_STATUS_ENTRY
} kymo_status_t;

#ifdef __cplusplus
}
#endif
#endif
