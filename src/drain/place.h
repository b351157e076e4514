/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a drain is spoken to: a folder kymo-drain-XXXXXX, of mode 0700 and with a name that nobody
 * can foresee, in the user's folder for such things (XDG_RUNTIME_DIR) or /tmp. In it lie the socket
 * and a link to the trace. Who uses the folder holds a lock on it, which ends with the process
 * however that ends: a folder that nobody holds is left over, and with it what its drain left in the
 * trace (place_sweep).
 */
#ifndef DRAIN_PLACE_H
#define DRAIN_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum { PLACE_SOCKET = 108, PLACE_TOKEN = 8 };

/* Makes the folder and gives the path of the socket in it. False: errno. Held until this process ends. */
bool place_make(char socket[PLACE_SOCKET], const char *trace);

/* A drain that was given the socket holds its folder, too: by the descriptor returned; -1: it is
 * none. */
int place_hold(const char *socket);

/* Tells processes that come what stands (SHM_STANDS). */
void place_stands(const char *socket, unsigned what);

/* Nobody finds the socket, which goes on to listen: until place_open(), or for ever. */
void place_shut(const char *socket);
void place_open(const char *socket);

/* The folder goes, and what a drain that was killed has left in the trace. errno stays. */
void place_remove(const char *socket);

/* What is in a name of that drain alone: of the folder's name, what nobody could foresee. */
void place_token(const char *socket, char token[PLACE_TOKEN]);

/*
 * Removes what was left behind by drains of this user that were killed. `told`, or NULL, is called for
 * each folder in which some lay, with their number.
 */
void place_sweep(void (*told)(const char *folder, unsigned n));

/* Calls `told` for each place of this user whose drain listens: its trace, and what stands there (place_stands), or 0. */
void place_each(void (*told)(const char *trace, unsigned stands, void *data), void *data);

#endif
