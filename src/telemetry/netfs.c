/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File systems on a network, as this node's client of them counts: NFS, from /proc/self/mountstats, and Lustre, from
 * llite/NAME/stats below /proc/fs/lustre or, where that is not there, debugfs (which root may read). Bytes are those
 * that programs read and wrote, from the page cache as well, and, for NFS, those that went over the network.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "telemetry/source.h"
#include "telemetry/values.h"

enum { PLACES = 64, TEXT = 1 << 18, LABEL = 160 };

enum value { VALUE_READ, VALUE_WRITTEN, VALUE_FETCHED, VALUE_SENT, VALUES };

static const struct {
	const char *name, *what;
} values[VALUES] = {
	[VALUE_READ] = {"fs.read", "Bytes that programs read"},
	[VALUE_WRITTEN] = {"fs.written", "Bytes that programs wrote"},
	[VALUE_FETCHED] = {"fs.fetched", "Bytes that the server was asked for and gave"},
	[VALUE_SENT] = {"fs.sent", "Bytes that were sent to the server"},
};

/* A mount of NFS, or a Lustre client. */
struct place {
	char label[LABEL];
	struct value_file file; /* of Lustre */
	uint32_t metrics[VALUES];
	bool lustre, here, found;
};

struct netfs {
	struct value_file mounts;
	struct place places[PLACES];
	unsigned count, refused;
	bool later;
	char text[TEXT];
};

static struct place *place_of(struct probe *p, struct netfs *s, const char *label, bool lustre)
{
	struct place *x;
	uint32_t device;

	for (unsigned i = 0; i < s->count; i++)
		if (strcmp(s->places[i].label, label) == 0 && s->places[i].lustre == lustre)
			return &s->places[i];
	if (s->count == PLACES) {
		if (!s->refused++)
			meter_denied(p, "more than %d file systems: others are left out", PLACES);
		return NULL;
	}
	x = &s->places[s->count++];
	*x = (struct place){.lustre = lustre, .here = true};
	snprintf(x->label, sizeof(x->label), "%s", label);
	device = meter_device(p, &(struct device_info){.type = "other",
						       .name = x->label,
						       .driver = lustre ? "lustre" : "nfs"});
	for (unsigned i = 0; i < (lustre ? VALUE_FETCHED : VALUES); i++)
		x->metrics[i] = meter_metric(p, &(struct metric_info){.name = values[i].name,
								      .unit = "bytes",
								      .description = values[i].what,
								      .device = device,
								      .kind = METRIC_TOTAL});
	if (s->later && meter_shown(p, x->metrics[0]))
		meter_told(p, "%s appeared", x->label);
	return x;
}

static void tell(struct probe *p, struct place *x, const uint64_t *v)
{
	if (!x->here && meter_shown(p, x->metrics[0]))
		meter_told(p, "%s is there again", x->label);
	for (unsigned i = 0; i < VALUES; i++) {
		if (!x->here)
			meter_again(p, x->metrics[i]);
		if (x->metrics[i])
			meter_total(p, x->metrics[i], v[i], NULL);
	}
	x->here = x->found = true;
}

/* ---- NFS ------------------------------------------------------------------------------------- */

/* "device SERVER:/PATH mounted on PLACE with fstype nfs4 ...": the place; mounts of others have none. */
static bool nfs_label(char *line, char label[LABEL])
{
	char *on = strstr(line, " mounted on "), *with = on ? strstr(on, " with fstype nfs") : NULL;

	if (strncmp(line, "device ", 7) != 0 || !with || strncmp(with + 13, "nfsd", 4) == 0)
		return false;
	*with = '\0';
	snprintf(label, LABEL, "nfs %s", on + 12);
	return true;
}

/* "bytes: READ WRITTEN DIRECTLY-READ DIRECTLY-WRITTEN FETCHED SENT PAGES PAGES" */
static bool nfs_bytes(const char *line, uint64_t v[VALUES])
{
	unsigned long long n[6];

	line += strspn(line, " \t");
	if (sscanf(line, "bytes: %llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3], &n[4],
		   &n[5]) != 6)
		return false;
	v[VALUE_READ] = n[0] + n[2];
	v[VALUE_WRITTEN] = n[1] + n[3];
	v[VALUE_FETCHED] = n[4];
	v[VALUE_SENT] = n[5];
	return true;
}

/* `only_find`: to be told, not yet read. */
static void read_nfs(struct probe *p, struct netfs *s, bool only_find)
{
	char label[LABEL], *save = NULL;
	bool mount = false;
	uint64_t v[VALUES];
	size_t n;

	meter_before(p);
	if (value_file_text(&s->mounts, s->text, sizeof(s->text), &n) != 0)
		return;
	for (char *l = strtok_r(s->text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct place *x;

		if (strncmp(l, "device ", 7) == 0)
			mount = nfs_label(l, label);
		if (!mount || !nfs_bytes(l, v))
			continue;
		x = place_of(p, s, label, false);
		if (x && !only_find)
			tell(p, x, v);
	}
}

/* ---- Lustre ---------------------------------------------------------------------------------- */

/* "read_bytes 3 samples [bytes] LEAST MOST SUM ...": a line that is not there is a 0. */
static uint64_t lustre_sum(const char *text, const char *name)
{
	size_t n = strlen(name);
	unsigned long long sum = 0;

	while (text && !(strncmp(text, name, n) == 0 && (text[n] == ' ' || text[n] == '\t'))) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (text)
		sscanf(text + n, " %*u samples [%*[^]]] %*u %*u %llu", &sum);
	return sum;
}

static void find_lustre(struct probe *p, struct netfs *s, const char *under)
{
	char folder[PATH_MAX], label[LABEL], text[256];
	struct dirent **names = NULL;
	int count;

	snprintf(folder, sizeof(folder), "%.*s%s", PATH_MAX - 300, meter_root(p), under);
	count = scandir(folder, &names, NULL, versionsort);
	for (int i = 0; i < count; i++) {
		struct value_file file;
		struct place *x;
		size_t n;

		value_file_init(&file, "%s/%s/stats", folder, names[i]->d_name);
		snprintf(label, sizeof(label), "lustre %.100s", names[i]->d_name);
		if (names[i]->d_name[0] != '.' &&
		    value_file_text(&file, text, sizeof(text), &n) == 0) {
			x = place_of(p, s, label, true);
			if (x && !*x->file.path)
				value_file_init(&x->file, "%s", file.path);
		}
		value_file_close(&file);
		free(names[i]);
	}
	free(names);
}

static void read_lustre(struct probe *p, struct netfs *s, struct place *x)
{
	uint64_t v[VALUES] = {0};
	size_t n;

	meter_before(p);
	if (access(x->file.path, F_OK) != 0)
		value_file_close(&x->file);
	if (value_file_text(&x->file, s->text, sizeof(s->text), &n) != 0)
		return; /* told as gone */
	v[VALUE_READ] = lustre_sum(s->text, "read_bytes");
	v[VALUE_WRITTEN] = lustre_sum(s->text, "write_bytes");
	tell(p, x, v);
}

/* ---- the source ------------------------------------------------------------------------------ */

static void netfs_close(void *state)
{
	struct netfs *s = state;

	value_file_close(&s->mounts);
	for (unsigned i = 0; i < s->count; i++)
		if (s->places[i].lustre)
			value_file_close(&s->places[i].file);
	free(s);
}

static void *netfs_open(struct probe *p)
{
	struct netfs *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	value_file_init(&s->mounts, "%s/proc/self/mountstats", meter_root(p));
	read_nfs(p, s, true);
	find_lustre(p, s, "/proc/fs/lustre/llite");
	find_lustre(p, s, "/sys/kernel/debug/lustre/llite");
	s->later = true;
	if (s->count)
		return s;
	meter_missing(p, "neither NFS nor Lustre is mounted");
	netfs_close(s);
	return NULL;
}

static void netfs_read(struct probe *p, void *state)
{
	struct netfs *s = state;

	for (unsigned i = 0; i < s->count; i++)
		s->places[i].found = false;
	read_nfs(p, s, false);
	for (unsigned i = 0; i < s->count; i++)
		if (s->places[i].lustre)
			read_lustre(p, s, &s->places[i]);
	for (unsigned i = 0; i < s->count; i++) {
		struct place *x = &s->places[i];

		if (x->here && !x->found && meter_shown(p, x->metrics[0]))
			meter_told(p, "%s went away", x->label);
		x->here &= x->found;
	}
}

extern const struct source source_netfs;
const struct source source_netfs = {
	.name = "netfs",
	.about = "file systems on a network: NFS, Lustre",
	.interval_ns = 100 * MILLISECOND,
	.open = netfs_open,
	.read = netfs_read,
	.close = netfs_close,
};
