/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What networks carried: interfaces of the kernel (/sys/class/net), ports of InfiniBand and RoCE adapters
 * (/sys/class/infiniband, whose data goes past the kernel), Slingshot adapters (/sys/class/cxi). Each interface, port
 * or adapter is a device of its own.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/source.h"
#include "telemetry/values.h"

enum { COUNTERS = 512 };

struct kind {
	const char *file, *name, *unit, *what;
	double scale;
};

static const struct kind net_kinds[] = {
	{"rx_bytes", "net.received", "bytes", "Bytes received", 1},
	{"tx_bytes", "net.sent", "bytes", "Bytes sent", 1},
	{"rx_packets", "net.packets.received", "packets", "Packets received", 1},
	{"tx_packets", "net.packets.sent", "packets", "Packets sent", 1},
	{"rx_dropped", "net.dropped.received", "packets", "Received packets dropped", 1},
	{"tx_dropped", "net.dropped.sent", "packets", "Packets dropped before they were sent", 1},
	{"rx_errors", "net.errors.received", "packets", "Packets received with errors", 1},
	{"tx_errors", "net.errors.sent", "packets", "Packets that could not be sent", 1},
};

/* The InfiniBand specification counts data in words of 4 bytes, for RoCE as well. */
static const struct kind ib_kinds[] = {
	{"port_rcv_data", "ib.received", "bytes", "Bytes received", 4},
	{"port_xmit_data", "ib.sent", "bytes", "Bytes sent", 4},
	{"port_rcv_packets", "ib.packets.received", "packets", "Packets received", 1},
	{"port_xmit_packets", "ib.packets.sent", "packets", "Packets sent", 1},
	{"port_xmit_wait", "ib.wait", "ticks", "Ticks in which data had to wait to be sent", 1},
	{"port_xmit_discards", "ib.dropped.sent", "packets",
	 "Packets dropped before they were sent", 1},
	{"port_rcv_errors", "ib.errors.received", "packets", "Packets received with errors", 1},
	{"symbol_error", "ib.errors.symbol", "errors", "Errors of the physical link", 1},
	{"link_downed", "ib.link_downed", "times", "Times that the link went down", 1},
};

static const struct kind cxi_kinds[] = {
	{"hni_sts_rx_ok_octets", "cxi.received", "bytes", "Bytes received", 1},
	{"hni_sts_tx_ok_octets", "cxi.sent", "bytes", "Bytes sent", 1},
	{"hni_rx_paused_0", "cxi.paused.received", "ticks",
	 "Ticks in which receiving was paused, class 0", 1},
	{"hni_rx_paused_1", "cxi.paused.received.1", "ticks",
	 "Ticks in which receiving was paused, class 1", 1},
	{"hni_tx_paused_0", "cxi.paused.sent", "ticks",
	 "Ticks in which sending was paused, class 0", 1},
	{"hni_tx_paused_1", "cxi.paused.sent.1", "ticks",
	 "Ticks in which sending was paused, class 1", 1},
	{"pct_trs_replay_pend_drops", "cxi.replays", "packets",
	 "Packets dropped while a replay was pending", 1},
	{"pct_spt_timeouts", "cxi.timeouts", "packets", "Packets that were not answered in time",
	 1},
	{"pct_no_tct_nacks", "cxi.nacks", "packets",
	 "Packets refused for want of a connection's state", 1},
};

#define COUNT(kinds) (sizeof(kinds) / sizeof((kinds)[0]))

struct counter {
	struct value_file file;
	uint32_t metric;
};

struct net {
	struct counter counters[COUNTERS];
	unsigned count, refused;
};

/* "1234", or "1234@SECONDS.NANOSECONDS", as Slingshot's driver has it. */
static int read_counter(struct value_file *f, uint64_t *out)
{
	char text[64], *end;
	size_t n;
	int error = value_file_text(f, text, sizeof(text), &n);

	if (error)
		return error;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || end == text || text[0] == '-' || !strchr("@\n", *end) ? EBADMSG : 0;
}

static void add_counter(struct probe *p, struct net *net, const char *folder, uint32_t device,
			const struct kind *k)
{
	struct counter *c = &net->counters[net->count];
	uint64_t v;
	int error;

	if (net->count == COUNTERS) {
		net->refused++;
		return;
	}
	value_file_init(&c->file, "%s/%s", folder, k->file);
	error = read_counter(&c->file, &v);
	if (error == EACCES || error == EPERM)
		meter_denied(p, "%s: permission denied", c->file.path);
	if (error)
		return; /* adapters do not have them all */
	c->metric = meter_metric(p, &(struct metric_info){.name = k->name,
							  .unit = k->unit,
							  .description = k->what,
							  .device = device,
							  .kind = METRIC_TOTAL,
							  .scale = k->scale});
	net->count++;
}

static void add_device(struct probe *p, struct net *net, const char *folder, const char *name,
		       const struct kind *kinds, size_t count)
{
	uint32_t device = meter_device(
		p, &(struct device_info){.type = "nic", .name = name, .driver = "sysfs"});

	for (size_t i = 0; i < count; i++)
		add_counter(p, net, folder, device, &kinds[i]);
}

/* Calls `add` for each entry of a folder below the root. */
static void each(struct probe *p, struct net *net, const char *folder,
		 void (*add)(struct probe *, struct net *, const char *folder, const char *name))
{
	struct dirent **names = NULL;
	int count = scandir(folder, &names, NULL, versionsort);

	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.')
			add(p, net, folder, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

static void add_interface(struct probe *p, struct net *net, const char *folder, const char *name)
{
	char path[PATH_MAX + 64], state[32];

	snprintf(path, sizeof(path), "%.*s/%.60s/operstate", PATH_MAX - 128, folder, name);
	if (value_line(path, state, sizeof(state)) == 0 && strcmp(state, "down") == 0)
		return;
	snprintf(path, sizeof(path), "%.*s/%.60s/statistics", PATH_MAX - 128, folder, name);
	add_device(p, net, path, name, net_kinds, COUNT(net_kinds));
}

static void add_port(struct probe *p, struct net *net, const char *folder, const char *name)
{
	char path[PATH_MAX + 64], label[160], adapter[64] = "";
	const char *end = strstr(folder, "/ports"), *start = end;

	while (start && start > folder && start[-1] != '/')
		start--;
	if (start)
		snprintf(adapter, sizeof(adapter), "%.*s", (int)(end - start), start);
	snprintf(path, sizeof(path), "%.*s/%.60s/counters", PATH_MAX - 128, folder, name);
	snprintf(label, sizeof(label), "%s port %.60s", adapter, name);
	add_device(p, net, path, label, ib_kinds, COUNT(ib_kinds));
}

static void add_adapter(struct probe *p, struct net *net, const char *folder, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%.*s/%.60s/ports", PATH_MAX - 128, folder, name);
	each(p, net, path, add_port);
}

static void add_slingshot(struct probe *p, struct net *net, const char *folder, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%.*s/%.60s/device/telemetry", PATH_MAX - 128, folder, name);
	add_device(p, net, path, name, cxi_kinds, COUNT(cxi_kinds));
}

static void *net_open(struct probe *p)
{
	struct net *net = calloc(1, sizeof(*net));
	char folder[PATH_MAX];

	if (!net)
		return NULL;
	snprintf(folder, sizeof(folder), "%.*s/sys/class/net", PATH_MAX - 256, meter_root(p));
	each(p, net, folder, add_interface);
	snprintf(folder, sizeof(folder), "%.*s/sys/class/infiniband", PATH_MAX - 256,
		 meter_root(p));
	each(p, net, folder, add_adapter);
	snprintf(folder, sizeof(folder), "%.*s/sys/class/cxi", PATH_MAX - 256, meter_root(p));
	each(p, net, folder, add_slingshot);
	if (net->refused)
		meter_denied(p, "%u counters are left out: too many", net->refused);
	if (net->count)
		return net;
	meter_missing(p, "no network in /sys/class/net, infiniband, cxi");
	free(net);
	return NULL;
}

static void net_read(struct probe *p, void *state)
{
	struct net *net = state;

	for (unsigned i = 0; i < net->count; i++) {
		struct counter *c = &net->counters[i];
		uint64_t v;
		int error;

		meter_before(p);
		error = read_counter(&c->file, &v);
		if (error)
			meter_gap(p, c->metric, value_error(error));
		else
			meter_total(p, c->metric, v, NULL);
	}
}

static void net_close(void *state)
{
	struct net *net = state;

	for (unsigned i = 0; i < net->count; i++)
		value_file_close(&net->counters[i].file);
	free(net);
}

extern const struct source source_net;
const struct source source_net = {
	.name = "net",
	.about = "networks: interfaces, InfiniBand, Slingshot",
	.interval_ns = 10 * MILLISECOND,
	.open = net_open,
	.read = net_read,
	.close = net_close,
};
