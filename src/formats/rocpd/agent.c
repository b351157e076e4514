/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices as rows. Readers of this format want either no description of a device or one with every
 * key that AMD's runtime knows: what is not known here is 0. The host is a device, too: the first.
 */
#include "formats/rocpd/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "stream/amd_agent.h"

struct device {
	const char *name, *vendor, *label, *type;
	const char *properties; /* JSON, or "" */
	uint64_t handle, uuid;
	int64_t row; /* absolute and logical index */
	int64_t of_type;
	bool cpu;
};

static bool is_cpu(const char *type)
{
	return strcmp(type, "cpu") == 0;
}

static void add_text(struct json *j, const char *name, const char *value)
{
	json_name(j, name);
	json_add_string(j, value);
}

/* What Kymo knows of it beside these keys, which others ignore. */
static void add_own(struct json *j, const struct device *d)
{
	json_name(j, "kymo");
	json_open(j, '{');
	add_text(j, "type", d->type);
	add_text(j, "label", d->label);
	if (d->properties && d->properties[0] == '{') {
		json_name(j, "properties");
		json_add_raw(j, d->properties);
	}
	json_close(j);
}

static void describe(struct text *out, const struct device *d)
{
	struct json j = {.out = out, .compact = true};

	json_open(&j, '{');
	json_name(&j, "size");
	json_add_unsigned(&j, 0);
	json_name(&j, "id");
	json_open(&j, '{');
	json_name(&j, "handle");
	json_add_unsigned(&j, d->handle);
	json_close(&j);
	json_name(&j, "type");
	json_add_unsigned(&j, d->cpu ? 1 : 2);
	amd_agent_values(&j);
	amd_agent_lists(&j);
	add_text(&j, "name", d->name);
	add_text(&j, "vendor_name", d->vendor);
	add_text(&j, "product_name", d->name);
	add_text(&j, "model_name", "");
	json_name(&j, "node_id");
	json_add_signed(&j, d->row);
	json_name(&j, "logical_node_id");
	json_add_signed(&j, d->row);
	json_name(&j, "logical_node_type_id");
	json_add_signed(&j, d->of_type);
	json_name(&j, "gpu_index");
	json_add_signed(&j, d->cpu ? -1 : d->of_type);
	add_own(&j, d);
	json_close(&j);
}

static void add_device(struct part *p, struct row *r, const struct device *d)
{
	const char *const names[] = {d->name, "", d->vendor, d->name, d->label};
	struct text extdata = {0};

	describe(&extdata, d);
	row_integer(r, d->row);
	row_integer(r, p->node);
	row_integer(r, p->pid);
	row_text(r, d->cpu ? "CPU" : "GPU");
	row_integer(r, d->row);
	row_integer(r, d->row);
	row_integer(r, d->of_type);
	row_integer(r, (int64_t)(d->uuid & INT64_MAX));
	for (unsigned i = 0; i < 5; i++)
		row_text(r, names[i]);
	row_text(r, extdata.failed ? "{}" : extdata.s);
	row_add(r);
	text_release(&extdata);
}

/*
 * Not 0, no other's, of all processes, and within 32 bits: AMD's converter to OTF2 has it for the id of a location
 * group, beside those of processes, 0, 1, ...
 */
static uint64_t handle_of(const struct part *p, int64_t row)
{
	return ((uint64_t)p->process + 1) << 12 | ((uint64_t)row + 1);
}

static uint64_t uuid_of(const struct t_agent *a)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 8; i++)
		v = v << 8 | a->uuid[i];
	return a->has_uuid ? v : 0;
}

void agents_number(struct rocpd *w)
{
	const struct trace *t = w->t;

	for (uint32_t i = 1; i < t->agents_count; i++) {
		int64_t before = 0;

		for (uint32_t k = i; k-- > 1 && !before;)
			before = t->agents[k].process == t->agents[i].process ? w->agent_row[k] : 0;
		w->agent_row[i] = before + 1;
	}
}

void agents_tell(const struct rocpd *w)
{
	const struct trace *t = w->t;
	uint32_t other = 0, first = 0;

	for (uint32_t i = t->agents_count; i-- > 1;) {
		if (is_cpu(t->agents[i].type) || strcmp(t->agents[i].type, "gpu") == 0)
			continue;
		first = i;
		other++;
	}
	if (other)
		stream_warn(w->o.log,
			    "rocpd: %" PRIu32
			    " device%s that %s neither CPU nor GPU (%s%s): written "
			    "as GPU%s, as this format knows no other",
			    other, plural(other), other > 1 ? "are" : "is", t->agents[first].label,
			    other > 1 ? ", ..." : "", plural(other));
}

bool agents_write(struct part *p)
{
	const struct trace *t = p->w->t;
	struct row r = row_of(p, "info_agent",
			      "id,nid,pid,type,absolute_index,logical_index,type_index,uuid,name,"
			      "model_name,vendor_name,product_name,user_name,extdata",
			      14);
	const struct device host = {.name = "CPU",
				    .vendor = "",
				    .label = "host",
				    .type = "cpu",
				    .handle = handle_of(p, 0),
				    .cpu = true};
	int64_t cpus = 1, others = 0;

	add_device(p, &r, &host);
	for (uint32_t i = 1; i < t->agents_count; i++) {
		const struct t_agent *a = &t->agents[i];
		struct device d = {.name = a->name,
				   .vendor = a->vendor,
				   .label = a->label,
				   .type = a->type,
				   .properties = a->properties,
				   .handle = handle_of(p, p->w->agent_row[i]),
				   .uuid = uuid_of(a),
				   .row = p->w->agent_row[i],
				   .cpu = is_cpu(a->type)};

		if (a->process != p->process)
			continue;
		d.of_type = d.cpu ? cpus++ : others++;
		add_device(p, &r, &d);
	}
	return row_end(&r);
}
