/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks: interfaces of the kernel (/sys/class/net), ports of InfiniBand and RoCE adapters
 * (/sys/class/infiniband, whose data goes past the kernel), Slingshot adapters (/sys/class/cxi). Each interface, port
 * or adapter is a device of its own. Those that come or go away meanwhile are told once a second; what counted under
 * a name before is never compared with what counts under it afterwards.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "telemetry/source.h"
#include "telemetry/values.h"

enum {
	COUNTERS = 2048, /* of all devices */
	KEPT_OPEN = 256, /* more are opened for each reading: descriptors are few */
	TOLD = 256,      /* comings and goings: containers have interfaces of their own */
	LABEL = 160
};

struct kind {
	const char *file, *name, *unit, *what;
	double scale;
	uint64_t full; /* where it stays when it has counted so much; 0: nowhere */
	bool flow;     /* what the link carries: it may wrap at 32 bits */
};

static const struct kind net_kinds[] = {
	{"rx_bytes", "net.received", "bytes", "Bytes received", 1, 0, false},
	{"tx_bytes", "net.sent", "bytes", "Bytes sent", 1, 0, false},
	{"rx_packets", "net.packets.received", "packets", "Packets received", 1, 0, false},
	{"tx_packets", "net.packets.sent", "packets", "Packets sent", 1, 0, false},
	{"rx_dropped", "net.dropped.received", "packets", "Received packets dropped", 1, 0, false},
	{"tx_dropped", "net.dropped.sent", "packets", "Packets dropped before they were sent", 1, 0,
	 false},
	{"rx_errors", "net.errors.received", "packets", "Packets received with errors", 1, 0,
	 false},
	{"tx_errors", "net.errors.sent", "packets", "Packets that could not be sent", 1, 0, false},
};

/*
 * The InfiniBand specification counts data in words of 4 bytes, for RoCE as well. Its counters are narrow and stay at
 * their greatest value; data and packets have 64 bits where the adapter has the extended ones, and 32 else, which
 * some drivers let wrap.
 */
#define FULL_32 UINT32_MAX
#define FULL_16 UINT16_MAX
#define FULL_8  UINT8_MAX
static const struct kind ib_kinds[] = {
	{"port_rcv_data", "ib.received", "bytes", "Bytes received", 4, FULL_32, true},
	{"port_xmit_data", "ib.sent", "bytes", "Bytes sent", 4, FULL_32, true},
	{"port_rcv_packets", "ib.packets.received", "packets", "Packets received", 1, FULL_32,
	 true},
	{"port_xmit_packets", "ib.packets.sent", "packets", "Packets sent", 1, FULL_32, true},
	{"port_xmit_wait", "ib.wait", "ticks", "Ticks in which data had to wait to be sent", 1,
	 FULL_32, false},
	{"port_xmit_discards", "ib.dropped.sent", "packets",
	 "Packets dropped before they were sent", 1, FULL_16, false},
	{"port_rcv_errors", "ib.errors.received", "packets", "Packets received with errors", 1,
	 FULL_16, false},
	{"symbol_error", "ib.errors.symbol", "errors", "Errors of the physical link", 1, FULL_16,
	 false},
	{"link_downed", "ib.link_downed", "times", "Times that the link went down", 1, FULL_8,
	 false},
};

static const struct kind cxi_kinds[] = {
	{"hni_sts_rx_ok_octets", "cxi.received", "bytes", "Bytes received", 1, 0, false},
	{"hni_sts_tx_ok_octets", "cxi.sent", "bytes", "Bytes sent", 1, 0, false},
	{"hni_rx_paused_0", "cxi.paused.received", "ticks",
	 "Ticks in which receiving was paused, class 0", 1, 0, false},
	{"hni_rx_paused_1", "cxi.paused.received.1", "ticks",
	 "Ticks in which receiving was paused, class 1", 1, 0, false},
	{"hni_tx_paused_0", "cxi.paused.sent", "ticks",
	 "Ticks in which sending was paused, class 0", 1, 0, false},
	{"hni_tx_paused_1", "cxi.paused.sent.1", "ticks",
	 "Ticks in which sending was paused, class 1", 1, 0, false},
	{"pct_trs_replay_pend_drops", "cxi.replays", "packets",
	 "Packets dropped while a replay was pending", 1, 0, false},
	{"pct_spt_timeouts", "cxi.timeouts", "packets", "Packets that were not answered in time", 1,
	 0, false},
	{"pct_no_tct_nacks", "cxi.nacks", "packets",
	 "Packets refused for want of a connection's state", 1, 0, false},
};

static const struct kind carrier_changes = {"carrier_changes",
					    "net.carrier.changes",
					    "times",
					    "Times that the link went up or down",
					    1,
					    0,
					    false};

#define COUNT(kinds) (sizeof(kinds) / sizeof((kinds)[0]))

enum reading {
	READ_TOTAL,
	/* Drivers ask the adapter for these: once a second is enough. */
	READ_LEVEL,
	READ_CARRIER, /* EINVAL: the interface is down */
	READ_RATE,    /* "100 Gb/sec (4X EDR)" */
	READ_STATE    /* "4: ACTIVE" */
};

struct counter {
	struct value_file file;
	uint32_t metric, place;
	enum reading how;
	uint64_t full;
};

/* An interface, port or adapter. */
struct place {
	char folder[PATH_MAX]; /* that is there as long as it is */
	char label[LABEL];
	uint32_t device;
	int64_t index; /* of an interface, which another one of its name has not; else 0 */
	bool here, shown;
};

struct net {
	struct counter *counters;
	uint32_t count, room;
	struct place *places;
	uint32_t place_count, place_room;
	uint32_t refused; /* counters that there was no room for; told once */
	uint32_t told;    /* comings and goings */
	uint64_t next_look;
	bool later; /* the first look is over: what is found is new */
	bool read;  /* before */
};

/* ---- files ----------------------------------------------------------------------------------- */

/* "1234", or "1234@SECONDS.NANOSECONDS", as Slingshot's driver has it. */
static int parse_count(const char *text, size_t n, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) || strlen(text) != n)
		return EBADMSG;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || (*end && !strchr("@\n", *end)) ? EBADMSG : 0;
}

/* Gb/s to Mb/s. */
static int parse_rate(const char *text, uint64_t *out)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || strncmp(end, " Gb/sec", 7) != 0 || !(v >= 0 && v < 1e6))
		return EBADMSG;
	*out = (uint64_t)(v * 1000 + 0.5);
	return 0;
}

static int read_counter(struct counter *c, uint64_t *out)
{
	char text[64];
	size_t n;
	int error = value_file_text(&c->file, text, sizeof(text), &n);

	*out = 0;
	if (error == EINVAL && c->how == READ_CARRIER)
		return 0;
	if (error)
		return error;
	if (c->how == READ_RATE)
		return parse_rate(text, out);
	if (c->how == READ_STATE) {
		*out = strncmp(text, "4:", 2) == 0;
		return isdigit((unsigned char)text[0]) ? 0 : EBADMSG;
	}
	return parse_count(text, n, out);
}

/* ---- counters -------------------------------------------------------------------------------- */

/* NULL: there is no such file, or nothing that can be read. */
static struct counter *add_counter(struct probe *p, struct net *net, const struct counter *what)
{
	struct counter *c;
	uint64_t v;
	int error;

	if (net->count == COUNTERS || !vec_reserve(&net->counters, &net->room, net->count, 1)) {
		net->refused++;
		return NULL;
	}
	c = &net->counters[net->count];
	*c = *what;
	error = read_counter(c, &v);
	if (net->count >= KEPT_OPEN)
		value_file_close(&c->file);
	if (error == EACCES || error == EPERM)
		meter_denied(p, "%s: permission denied", c->file.path);
	if (error) {
		value_file_close(&c->file);
		return NULL; /* adapters do not have them all */
	}
	net->count++;
	return c;
}

/* In a second, of a link of so many Mb/s: words of 4 bytes, or packets of 16 bytes at least. */
static double most_of(const struct kind *k, uint64_t mbits)
{
	return 1.25e5 * (double)(mbits ? mbits : 1600000) / (k->scale > 1 ? k->scale : 16) * 1.25;
}

static void add_total(struct probe *p, struct net *net, uint32_t place, const struct kind *k,
		      const char *file, uint64_t mbits)
{
	const struct place *x = &net->places[place];
	struct counter c = {.place = place, .how = READ_TOTAL, .full = k->full}, *made;
	bool narrow = k->flow;

	if (k->flow) {
		value_file_init(&c.file, "%s/counters_ext/%s_64", x->folder, k->file);
		narrow = access(c.file.path, F_OK) != 0;
		c.full = narrow ? k->full : 0;
	}
	if (!k->flow || narrow)
		value_file_init(&c.file, "%s/%s", x->folder, file);
	made = add_counter(p, net, &c);
	if (made)
		made->metric = meter_metric(
			p, &(struct metric_info){.name = k->name,
						 .unit = k->unit,
						 .description = k->what,
						 .device = x->device,
						 .kind = METRIC_TOTAL,
						 .scale = k->scale,
						 .wrap = narrow ? UINT32_MAX + 1ull : 0,
						 .most = narrow ? most_of(k, mbits) : 0});
}

static void add_totals(struct probe *p, struct net *net, uint32_t place, const char *folder,
		       const struct kind *kinds, size_t count, uint64_t mbits)
{
	for (size_t i = 0; i < count; i++) {
		char file[128];

		snprintf(file, sizeof(file), "%.60s/%.60s", folder, kinds[i].file);
		add_total(p, net, place, &kinds[i], file, mbits);
	}
}

/* 0: it cannot be read. */
static uint64_t add_level(struct probe *p, struct net *net, uint32_t place, enum reading how,
			  const char *file, const char *name, const char *unit, const char *what)
{
	const struct place *x = &net->places[place];
	struct counter c = {.place = place, .how = how}, *made;
	uint64_t v = 0;

	value_file_init(&c.file, "%s/%s", x->folder, file);
	made = add_counter(p, net, &c);
	if (!made)
		return 0;
	made->metric = meter_metric(
		p, &(struct metric_info){
			   .name = name, .unit = unit, .description = what, .device = x->device});
	return read_counter(made, &v) == 0 ? v : 0;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void tell(struct probe *p, struct net *net, const struct place *x, const char *what)
{
	if (!x->shown || net->told > TOLD)
		return;
	if (net->told++ < TOLD)
		meter_told(p, "%s %s", x->label, what);
	else
		meter_told(p, "more networks come and go, and are not told");
}

/* Its number among the interfaces; another one of its name has another. */
static int64_t index_of(const struct place *x)
{
	char path[PATH_MAX + 16];
	int64_t v;

	snprintf(path, sizeof(path), "%s/ifindex", x->folder);
	return value_number(path, &v) == 0 ? v : 0;
}

/* It is there again: its counts begin anew. */
static void place_again(struct probe *p, struct net *net, uint32_t place)
{
	for (uint32_t i = 0; i < net->count; i++)
		if (net->counters[i].place == place) {
			value_file_close(&net->counters[i].file);
			meter_again(p, net->counters[i].metric);
		}
	net->places[place].here = true;
	net->places[place].index = index_of(&net->places[place]);
}

/* False: it is known, and was looked at; else *at is its place, of which nothing is read yet. */
static bool new_place(struct probe *p, struct net *net, const char *folder, const char *label,
		      uint32_t *at)
{
	struct place *x;

	for (uint32_t i = 0; i < net->place_count; i++) {
		x = &net->places[i];
		if (strcmp(x->label, label) != 0 || strcmp(x->folder, folder) != 0)
			continue;
		if (!x->here)
			tell(p, net, x, "is there again");
		else if (x->index != index_of(x))
			tell(p, net, x, "is another one than before");
		if (!x->here || x->index != index_of(x))
			place_again(p, net, i);
		return false;
	}
	if (!vec_reserve(&net->places, &net->place_room, net->place_count, 1)) {
		net->refused++;
		return false;
	}
	*at = net->place_count++;
	x = &net->places[*at];
	*x = (struct place){.here = true};
	snprintf(x->folder, sizeof(x->folder), "%s", folder);
	snprintf(x->label, sizeof(x->label), "%s", label);
	x->index = index_of(x);
	x->device = meter_device(
		p, &(struct device_info){.type = "nic", .name = label, .driver = "sysfs"});
	if (x->device)
		return true;
	net->refused++; /* too many: it is known, and not read */
	return false;
}

/* All of it that is read is known. */
static void place_done(struct probe *p, struct net *net, uint32_t place)
{
	struct place *x = &net->places[place];

	for (uint32_t i = 0; i < net->count; i++)
		x->shown |=
			net->counters[i].place == place && meter_shown(p, net->counters[i].metric);
	if (net->later)
		tell(p, net, x, "appeared");
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
	char path[PATH_MAX], file[PATH_MAX + 16], state[32];
	uint32_t x;

	snprintf(path, sizeof(path), "%.*s/%.255s", PATH_MAX - 300, folder, name);
	snprintf(file, sizeof(file), "%s/operstate", path);
	if (value_line(file, state, sizeof(state)) == 0 && strcmp(state, "down") == 0)
		return;
	if (!new_place(p, net, path, name, &x))
		return;
	add_totals(p, net, x, "statistics", net_kinds, COUNT(net_kinds), 0);
	add_total(p, net, x, &carrier_changes, carrier_changes.file, 0);
	add_level(p, net, x, READ_CARRIER, "carrier", "net.carrier", "",
		  "1: the link is up, 0: not");
	add_level(p, net, x, READ_LEVEL, "speed", "net.speed", "Mb/s", "What the link can carry");
	place_done(p, net, x);
}

/* What the adapter counts besides, by the names that its driver has for it. */
static void add_hardware(struct probe *p, struct net *net, uint32_t place)
{
	struct dirent **names = NULL;
	char folder[PATH_MAX + 16];
	int count;

	snprintf(folder, sizeof(folder), "%s/hw_counters", net->places[place].folder);
	count = scandir(folder, &names, NULL, versionsort);
	for (int i = 0; i < count; i++) {
		const char *file = names[i]->d_name;
		char name[96], path[300];
		struct kind k = {.file = file,
				 .name = name,
				 .unit = "",
				 .what = "Counted by the adapter, see its driver",
				 .scale = 1};

		snprintf(name, sizeof(name), "ib.hw.%.80s", file);
		for (char *c = name; *c; c++)
			*c = isalnum((unsigned char)*c) || strchr("._-", *c) ? *c : '?';
		snprintf(path, sizeof(path), "hw_counters/%s", file);
		/* How long the driver keeps values before it asks the adapter again. */
		if (file[0] != '.' && strcmp(file, "lifespan") != 0)
			add_total(p, net, place, &k, path, 0);
		free(names[i]);
	}
	free(names);
}

static void add_port(struct probe *p, struct net *net, const char *folder, const char *name)
{
	char path[PATH_MAX], label[LABEL], adapter[96] = "";
	const char *end = strstr(folder, "/ports"), *start = end;
	uint64_t mbits;
	uint32_t x;

	while (start && start > folder && start[-1] != '/')
		start--;
	if (start)
		snprintf(adapter, sizeof(adapter), "%.*s", (int)(end - start), start);
	snprintf(path, sizeof(path), "%.*s/%.60s", PATH_MAX - 128, folder, name);
	snprintf(label, sizeof(label), "%s port %.50s", adapter, name);
	if (!new_place(p, net, path, label, &x))
		return;
	mbits = add_level(p, net, x, READ_RATE, "rate", "ib.speed", "Mb/s",
			  "What the link can carry");
	add_level(p, net, x, READ_STATE, "state", "ib.carrier", "", "1: the link is up, 0: not");
	add_totals(p, net, x, "counters", ib_kinds, COUNT(ib_kinds), mbits);
	add_hardware(p, net, x);
	place_done(p, net, x);
}

static void add_adapter(struct probe *p, struct net *net, const char *folder, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/%.255s/ports", PATH_MAX - 300, folder, name);
	each(p, net, path, add_port);
}

static void add_slingshot(struct probe *p, struct net *net, const char *folder, const char *name)
{
	char path[PATH_MAX];
	uint32_t x;

	snprintf(path, sizeof(path), "%.*s/%.255s/device", PATH_MAX - 300, folder, name);
	if (!new_place(p, net, path, name, &x))
		return;
	add_totals(p, net, x, "telemetry", cxi_kinds, COUNT(cxi_kinds), 0);
	place_done(p, net, x);
}

static void look(struct probe *p, struct net *net)
{
	static const struct {
		const char *folder;
		void (*add)(struct probe *, struct net *, const char *, const char *);
	} classes[] = {{"net", add_interface}, {"infiniband", add_adapter}, {"cxi", add_slingshot}};
	bool refused = net->refused != 0;
	char folder[PATH_MAX];

	for (uint32_t i = 0; i < net->place_count; i++) {
		struct place *x = &net->places[i];

		if (!x->here || access(x->folder, F_OK) == 0)
			continue;
		x->here = false;
		tell(p, net, x, "went away");
	}
	for (size_t i = 0; i < COUNT(classes); i++) {
		snprintf(folder, sizeof(folder), "%.*s/sys/class/%s", PATH_MAX - 64, meter_root(p),
			 classes[i].folder);
		each(p, net, folder, classes[i].add);
	}
	if (net->refused && !refused)
		meter_denied(p, "there are too many devices or counters: some are left out");
	net->next_look = meter_before(p) + SECOND;
	net->later = true;
}

/* ---- the source ------------------------------------------------------------------------------ */

static void net_close(void *state)
{
	struct net *net = state;

	for (unsigned i = 0; i < net->count; i++)
		value_file_close(&net->counters[i].file);
	free(net->counters);
	free(net->places);
	free(net);
}

static void *net_open(struct probe *p)
{
	struct net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	look(p, net);
	if (net->count)
		return net;
	meter_missing(p, "no network in /sys/class/net, infiniband, cxi");
	net_close(net);
	return NULL;
}

static void read_one(struct probe *p, struct net *net, uint32_t i)
{
	struct counter *c = &net->counters[i];
	uint64_t v;
	int error;

	meter_before(p);
	error = read_counter(c, &v);
	if (i >= KEPT_OPEN)
		value_file_close(&c->file);
	if (c->file.again || error == ENOENT || error == ENODEV || error == ENXIO)
		meter_again(p, c->metric); /* the file will be of another device than before */
	c->file.again = false;
	if (error)
		meter_gap(p, c->metric, value_error(error));
	else if (c->how != READ_TOTAL)
		meter_level(p, c->metric, (double)v);
	else if (c->full && v == c->full)
		meter_full(p, c->metric);
	else
		meter_total(p, c->metric, v, NULL);
}

static void net_read(struct probe *p, void *state)
{
	struct net *net = state;
	bool all = !net->read || meter_before(p) >= net->next_look;

	if (all && net->read)
		look(p, net);
	net->read = true;
	for (uint32_t i = 0; i < net->count; i++)
		if (net->places[net->counters[i].place].here &&
		    (all || net->counters[i].how == READ_TOTAL))
			read_one(p, net, i);
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
