/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is at the other end of a local socket. A name in a file system says nothing about who listens
 * there: it can have been taken by somebody else after its owner has gone. The kernel knows.
 */
#ifndef BASE_PEER_H
#define BASE_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * The process at the other end is, or was when it connected or began to listen, this user's or the
 * superuser's, who can do all that this user can.
 */
bool peer_may_ask(int fd);

/*
 * Connects (SOCK_SEQPACKET) to a socket that only this user can have made: it lies in a folder of
 * his own that nobody else may enter, and it is he who listens. `any` is for the superuser, who may
 * speak to the drain of anybody. -1: errno; EPERM: it is somebody else's; EAGAIN: so many wait
 * there that there was no place within `wait_ms`, and nothing that is sent later waits longer.
 */
int peer_connect(const char *path, bool any, int wait_ms);

/*
 * Whether who has connected from port `from` of 127.0.0.1 to port `to` of it is this user or the superuser; *who: its
 * user, where that is known. A connection through another host's address, or that has ended, is not known.
 */
enum peer_port { PEER_PORT_UNKNOWN, PEER_PORT_MAY, PEER_PORT_MAY_NOT };
enum peer_port peer_port_may_ask(uint16_t from, uint16_t to, uid_t *who);

/* What follows uses another system call where a filter refuses the first one. */

/* Sends a message of `count` parts and with it a descriptor, which stays the caller's too. False: errno. */
bool peer_send(int fd, const struct iovec *parts, size_t count, int descriptor);

/* As send(), but there is no SIGPIPE, and recvmsg(). */
ssize_t peer_say(int fd, const void *data, size_t size, int flags);
ssize_t peer_receive(int fd, struct msghdr *m, int flags);

#endif
