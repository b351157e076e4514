/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that are one device; see device_match.h. */
#include "analysis/device_match.h"

#include <stdio.h>
#include <string.h>

#include "stream/stream.h"

struct address {
	unsigned domain, bus, device, function;
};

/* From the properties, which are JSON: "pci":"0000:3b:00.0", with or without a blank. */
static bool address_of(const struct t_agent *a, struct address *out)
{
	const char *at = a->properties ? strstr(a->properties, "\"pci\"") : NULL;

	if (!at)
		return false;
	at += 5;
	at += strspn(at, " :");
	return sscanf(at, "\"%x:%2x:%2x.%1x\"", &out->domain, &out->bus, &out->device,
		      &out->function) == 4;
}

static bool same_host(const struct trace *t, const struct t_agent *a, const struct t_agent *b)
{
	return strcmp(t->processes[a->process].hostname, t->processes[b->process].hostname) == 0;
}

static bool is_package(const struct trace *t, const struct t_agent *a)
{
	return t->processes[a->process].telemetry && strcmp(a->type, "cpu") == 0;
}

static bool is_host_device(const struct trace *t, const struct t_agent *a)
{
	return !t->processes[a->process].telemetry && strcmp(a->type, "cpu") == 0;
}

bool device_match(const struct trace *t, uint32_t i, uint32_t k)
{
	const struct t_agent *a = &t->agents[i], *b = &t->agents[k];
	struct address x, y;

	if (a->has_uuid && b->has_uuid && memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0)
		return true;
	if (!same_host(t, a, b))
		return false;
	if ((is_package(t, a) && is_host_device(t, b)) ||
	    (is_package(t, b) && is_host_device(t, a)))
		return true;
	/* Runtimes make uuids of their own for one device, so that others do not say it is another. */
	return address_of(a, &x) && address_of(b, &y) && x.domain == y.domain && x.bus == y.bus &&
	       x.device == y.device && x.function == y.function;
}
