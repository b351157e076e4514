/* SPDX-License-Identifier: Apache-2.0 */
/* See peer.h. */
#include "base/peer.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/*
 * A line of /proc/net/tcp (proc(5)): number, own address and port, those of the other end, state, queues, timer,
 * retransmissions, user. Addresses are as they lie in memory, read as a number.
 */
#define LINE "%*u: %" SCNx32 ":%" SCNx32 " %" SCNx32 ":%" SCNx32 " %*x %*x:%*x %*x:%*x %*x %" SCNu32

enum peer_port peer_port_may_ask(uint16_t from, uint16_t to, uid_t *who)
{
	const uint32_t here = htonl(INADDR_LOOPBACK);
	enum peer_port found = PEER_PORT_UNKNOWN;
	FILE *f = fopen("/proc/net/tcp", "re");
	char line[512];

	while (f && found == PEER_PORT_UNKNOWN && fgets(line, sizeof(line), f)) {
		uint32_t own, own_port, other, other_port, uid;

		if (sscanf(line, LINE, &own, &own_port, &other, &other_port, &uid) != 5 ||
		    own != here || own_port != from || other != here || other_port != to)
			continue;
		*who = uid;
		found = uid == geteuid() || uid == 0 ? PEER_PORT_MAY : PEER_PORT_MAY_NOT;
	}
	if (f)
		fclose(f);
	return found;
}
