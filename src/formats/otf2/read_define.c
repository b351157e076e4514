/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions as they stand in the archive, each found by what the archive calls it. Of two that have one
 * number the first counts.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "formats/otf2/reader.h"

static const char again[] = "definitions of what is defined already";

/* Makes room for one more of a table under `ref`; false: it is there, or there is no memory. */
#define NEW(r, name, ref)                                                                          \
	(is_new((r), &(r)->name##_at, (ref), (r)->name##_count) &&                                 \
	 (vec_reserve(&(r)->name, &(r)->name##_room, (r)->name##_count, 1) || out_of_memory(r)) && \
	 place(r, &(r)->name##_at, (ref), ++(r)->name##_count))
#define LAST(r, name) ((r)->name[(r)->name##_count - 1])

static bool out_of_memory(struct reader *r)
{
	r->emptied = true;
	return false;
}

static bool is_new(struct reader *r, const struct map *at, uint64_t ref, uint32_t count)
{
	if (r->sink || map_get(at, ref)) { /* the second time all are there */
		if (!r->sink)
			unplaced_add(&r->unplaced, again, 1);
		return false;
	}
	return count < INT32_MAX;
}

static bool place(struct reader *r, struct map *at, uint64_t ref, uint64_t value)
{
	return map_set(at, ref, value) || out_of_memory(r);
}

const char *otf2r_text(const struct reader *r, uint32_t ref)
{
	uint32_t i = otf2r_at(&r->texts_at, ref);

	return i ? r->texts[i - 1].s : "";
}

static OTF2_CallbackCode done(const struct reader *r)
{
	return r->emptied ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/* ---- names and times ------------------------------------------------------------------------- */

static OTF2_CallbackCode on_clock(void *data, uint64_t resolution, uint64_t offset, uint64_t length,
				  uint64_t realtime)
{
	struct reader *r = data;

	r->resolution = resolution;
	r->offset = offset;
	r->length = length;
	r->realtime = realtime;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef self, const char *s)
{
	struct reader *r = data;

	if (NEW(r, texts, self))
		LAST(r, texts).s = trace_string(r->t, s ? s : "", s ? strlen(s) : 0);
	return done(r);
}

static OTF2_CallbackCode on_paradigm(void *data, OTF2_Paradigm p, OTF2_StringRef name,
				     OTF2_ParadigmClass class)
{
	struct reader *r = data;

	r->paradigms[p] = otf2r_text(r, name);
	return OTF2_CALLBACK_SUCCESS;
}

static uint8_t known_attribute(const char *name)
{
	static const char *const names[KNOWN_ATTRIBUTES] = {
#define X(enumerator, text, type, description) [ATTRIBUTE_##enumerator] = (text),
		OTF2_ATTRIBUTES(X)
#undef X
			[KNOWN_CUDA_STREAM] = "CUDA_STREAM_REF",
	};

	for (unsigned i = 0; i < KNOWN_ATTRIBUTES; i++)
		if (names[i] && strcmp(names[i], name) == 0)
			return (uint8_t)(i + 1);
	return 0;
}

static OTF2_CallbackCode on_attribute(void *data, OTF2_AttributeRef self, OTF2_StringRef name,
				      OTF2_StringRef description, OTF2_Type type)
{
	struct reader *r = data;

	if (NEW(r, attributes, self))
		LAST(r, attributes) =
			(struct named){otf2r_text(r, name), known_attribute(otf2r_text(r, name))};
	return done(r);
}

static OTF2_CallbackCode on_parameter(void *data, OTF2_ParameterRef self, OTF2_StringRef name,
				      OTF2_ParameterType type)
{
	struct reader *r = data;

	if (NEW(r, parameters, self))
		LAST(r, parameters) = (struct named){otf2r_text(r, name), 0};
	return done(r);
}

/* ---- the system ------------------------------------------------------------------------------ */

static OTF2_CallbackCode on_node(void *data, OTF2_SystemTreeNodeRef self, OTF2_StringRef name,
				 OTF2_StringRef class, OTF2_SystemTreeNodeRef parent)
{
	struct reader *r = data;

	if (NEW(r, nodes, self))
		LAST(r, nodes) = (struct node){.name = otf2r_text(r, name),
					       .class = otf2r_text(r, class),
					       .parent = parent};
	return done(r);
}

static OTF2_CallbackCode on_node_domain(void *data, OTF2_SystemTreeNodeRef self,
					OTF2_SystemTreeDomain domain)
{
	struct reader *r = data;
	uint32_t i = otf2r_at(&r->nodes_at, self);

	if (i && domain == OTF2_SYSTEM_TREE_DOMAIN_ACCELERATOR_DEVICE)
		r->nodes[i - 1].device = true;
	return OTF2_CALLBACK_SUCCESS;
}

/* Digits alone count: "GPU-01234567-89ab-..." and others are written so. */
static void take_uuid(struct node *n, const char *s)
{
	unsigned digits = 0;
	uint8_t uuid[16] = {0};

	s = strncmp(s, "GPU-", 4) == 0 ? s + 4 : s;
	for (; *s && digits < 32; s++) {
		if (!isxdigit((unsigned char)*s))
			continue;
		uuid[digits / 2] =
			(uint8_t)(uuid[digits / 2] << 4 |
				  (isdigit((unsigned char)*s) ? *s - '0' : (*s | 32) - 'a' + 10));
		digits++;
	}
	n->has_uuid = digits == 32;
	memcpy(n->uuid, uuid, sizeof(uuid));
}

static OTF2_CallbackCode on_node_property(void *data, OTF2_SystemTreeNodeRef self,
					  OTF2_StringRef name_ref, OTF2_Type type,
					  OTF2_AttributeValue value)
{
	struct reader *r = data;
	uint32_t i = otf2r_at(&r->nodes_at, self);
	const char *name = otf2r_text(r, name_ref),
		   *text = type == OTF2_TYPE_STRING ? otf2r_text(r, value.stringRef) : "";
	struct node *n = i ? &r->nodes[i - 1] : NULL;

	if (!n)
		return OTF2_CALLBACK_SUCCESS;
	if (strcasecmp(name, "UUID") == 0)
		take_uuid(n, text);
	else if (strcasecmp(name, "Name") == 0)
		n->title = text;
	else if (strcasecmp(name, "Type") == 0)
		n->type = text;
	else if (strcasecmp(name, "Vendor") == 0)
		n->vendor = text;
	else if (strcasecmp(name, "Driver") == 0)
		n->driver = text;
	else if (r->kymo && strcmp(name, "Properties") == 0)
		n->properties = text;
	else if (n->device)
		unplaced_add(&r->unplaced, "further properties of devices", !r->sink);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_group(void *data, OTF2_LocationGroupRef self, OTF2_StringRef name,
				  OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef node,
				  OTF2_LocationGroupRef creator)
{
	struct reader *r = data;

	if (NEW(r, groups, self))
		LAST(r, groups) = (struct group_of_locations){.ref = self,
							      .name = otf2r_text(r, name),
							      .type = type,
							      .node = node,
							      .creator = creator};
	return done(r);
}

static OTF2_CallbackCode on_group_property(void *data, OTF2_LocationGroupRef self,
					   OTF2_StringRef name, OTF2_Type type,
					   OTF2_AttributeValue value)
{
	struct reader *r = data;
	uint32_t i = otf2r_at(&r->groups_at, self);
	const char *s = otf2r_text(r, name);
	uint64_t n = type == OTF2_TYPE_UINT64   ? value.uint64
		     : type == OTF2_TYPE_UINT32 ? value.uint32
		     : type == OTF2_TYPE_STRING ? strtoull(otf2r_text(r, value.stringRef), NULL, 10)
						: 0;

	if (i && strcmp(s, "ProcessId") == 0)
		r->groups[i - 1].pid = n;
	if (i && strcmp(s, "OTF2::KYMO::LOST_RECORDS") == 0)
		r->groups[i - 1].lost = n;
	if (i && r->kymo && strcmp(s, PROPERTY_GROUP) == 0)
		r->groups[i - 1].twin = n + 1;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef self, OTF2_StringRef name,
				     OTF2_LocationType type, uint64_t events,
				     OTF2_LocationGroupRef group)
{
	struct reader *r = data;

	if (NEW(r, places, self))
		LAST(r, places) = (struct place){.ref = self,
						 .name = otf2r_text(r, name),
						 .type = type,
						 .group = otf2r_at(&r->groups_at, group)};
	r->total += events < COUNT_MAX - r->total ? events : 0;
	return done(r);
}

static OTF2_CallbackCode on_location_property(void *data, OTF2_LocationRef self,
					      OTF2_StringRef name, OTF2_Type type,
					      OTF2_AttributeValue value)
{
	struct reader *r = data;
	uint32_t i = otf2r_at(&r->places_at, self);

	if (i && r->kymo && type == OTF2_TYPE_UINT64 &&
	    strcmp(otf2r_text(r, name), PROPERTY_LOCATION) == 0)
		r->places[i - 1].twin = value.uint64 + 1;
	return OTF2_CALLBACK_SUCCESS;
}

/* ---- regions --------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_region(void *data, OTF2_RegionRef self, OTF2_StringRef name,
				   OTF2_StringRef canonical, OTF2_StringRef description,
				   OTF2_RegionRole role, OTF2_Paradigm paradigm,
				   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin,
				   uint32_t end)
{
	struct reader *r = data;
	const char *s = otf2r_text(r, r->kymo ? canonical : name);

	if (NEW(r, regions, self))
		LAST(r, regions) = (struct region){.name = *s ? s : "(no name)",
						   .file = otf2r_text(r, file),
						   .role = role,
						   .paradigm = paradigm};
	return done(r);
}

static OTF2_CallbackCode on_context(void *data, OTF2_CallingContextRef self, OTF2_RegionRef region,
				    OTF2_SourceCodeLocationRef source,
				    OTF2_CallingContextRef parent)
{
	struct reader *r = data;

	if (NEW(r, contexts, self))
		LAST(r, contexts) = (struct context_in){otf2r_at(&r->regions_at, region), parent,
							otf2r_at(&r->sources_at, source)};
	return done(r);
}

static OTF2_CallbackCode on_source(void *data, OTF2_SourceCodeLocationRef self, OTF2_StringRef file,
				   uint32_t line)
{
	struct reader *r = data;

	if (NEW(r, sources, self))
		LAST(r, sources) = (struct source_in){otf2r_text(r, file), line};
	return done(r);
}

/* Powers of 2 or 10 of a second; what is below a nanosecond or above a day is no period. */
static OTF2_CallbackCode on_generator(void *data, OTF2_InterruptGeneratorRef self,
				      OTF2_StringRef name, OTF2_InterruptGeneratorMode mode,
				      OTF2_Base base, int64_t exponent, uint64_t period)
{
	struct reader *r = data;
	double ns = (double)period * 1e9 * pow(base == OTF2_BASE_BINARY ? 2 : 10, (double)exponent);

	if (mode != OTF2_INTERRUPT_GENERATOR_MODE_TIME || !(ns >= 1 && ns <= 86400e9))
		ns = 0;
	if (NEW(r, generators, self))
		LAST(r, generators) = (struct generator){llround(ns)};
	return done(r);
}

/* ---- groups and communicators ---------------------------------------------------------------- */

static OTF2_CallbackCode on_list(void *data, OTF2_GroupRef self, OTF2_StringRef name,
				 OTF2_GroupType type, OTF2_Paradigm paradigm, OTF2_GroupFlag flags,
				 uint32_t count, const uint64_t *list)
{
	struct reader *r = data;
	uint64_t *copy;

	if (!NEW(r, lists, self))
		return done(r);
	copy = trace_alloc(r->t, ((size_t)count + 1) * sizeof(*copy));
	if (copy && count)
		memcpy(copy, list, count * sizeof(*copy));
	LAST(r, lists) = (struct members){
		.list = copy, .count = copy ? count : 0, .type = type, .paradigm = paradigm};
	if (type == OTF2_GROUP_TYPE_COMM_LOCATIONS && !r->locations_of[paradigm])
		r->locations_of[paradigm] = r->lists_count;
	return done(r);
}

static OTF2_CallbackCode on_comm(void *data, OTF2_CommRef self, OTF2_StringRef name,
				 OTF2_GroupRef group, OTF2_CommRef parent, OTF2_CommFlag flags)
{
	struct reader *r = data;

	if (NEW(r, comms, self))
		LAST(r, comms) = (struct comm){.name = otf2r_text(r, name),
					       .group = otf2r_at(&r->lists_at, group),
					       .parent_ref = parent};
	return done(r);
}

static OTF2_CallbackCode on_inter_comm(void *data, OTF2_CommRef self, OTF2_StringRef name,
				       OTF2_GroupRef a, OTF2_GroupRef b, OTF2_CommRef parent,
				       OTF2_CommFlag flags)
{
	struct reader *r = data;

	if (NEW(r, comms, self))
		LAST(r, comms) = (struct comm){.name = otf2r_text(r, name),
					       .group = otf2r_at(&r->lists_at, a),
					       .remote = otf2r_at(&r->lists_at, b),
					       .parent_ref = parent,
					       .inter = true};
	return done(r);
}

static OTF2_CallbackCode on_window(void *data, OTF2_RmaWinRef self, OTF2_StringRef name,
				   OTF2_CommRef comm, OTF2_RmaWinFlag flags)
{
	struct reader *r = data;
	uint32_t c = otf2r_at(&r->comms_at, comm);

	if (NEW(r, windows, self))
		LAST(r, windows) = (struct comm){.name = otf2r_text(r, name),
						 .group = c ? r->comms[c - 1].group : 0,
						 .parent = c};
	return done(r);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_member(void *data, OTF2_MetricMemberRef self, OTF2_StringRef name,
				   OTF2_StringRef description, OTF2_MetricType type,
				   OTF2_MetricMode mode, OTF2_Type value_type, OTF2_Base base,
				   int64_t exponent, OTF2_StringRef unit)
{
	struct reader *r = data;
	int e = exponent > 60 ? 60 : exponent < -60 ? -60 : (int)exponent;

	if (NEW(r, members, self))
		LAST(r, members) = (struct metric_member){
			.name = otf2r_text(r, name),
			.description = otf2r_text(r, description),
			.unit = otf2r_text(r, unit),
			.mode = mode,
			.type = value_type,
			.factor = base == OTF2_BASE_BINARY ? ldexp(1, e) : pow(10, e)};
	return done(r);
}

static OTF2_CallbackCode on_metric_class(void *data, OTF2_MetricRef self, uint8_t count,
					 const OTF2_MetricMemberRef *list,
					 OTF2_MetricOccurrence occurrence, OTF2_RecorderKind kind)
{
	struct reader *r = data;
	uint32_t *members;

	if (!NEW(r, metrics, self))
		return done(r);
	members = trace_alloc(r->t, (count + 1u) * sizeof(*members));
	for (unsigned i = 0; members && i < count; i++)
		members[i] = otf2r_at(&r->members_at, list[i]);
	LAST(r, metrics) = (struct metric_of){.members = members, .count = members ? count : 0};
	return done(r);
}

static OTF2_CallbackCode on_metric_instance(void *data, OTF2_MetricRef self, OTF2_MetricRef class,
					    OTF2_LocationRef recorder, OTF2_MetricScope kind,
					    uint64_t scope)
{
	struct reader *r = data;

	if (NEW(r, metrics, self))
		LAST(r, metrics) = (struct metric_of){
			.of = class, .instance = true, .scope_kind = kind, .scope = scope};
	return done(r);
}

/* ---- the whole ------------------------------------------------------------------------------- */

OTF2_GlobalDefReaderCallbacks *otf2r_define(void)
{
	OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();

	if (!c)
		return NULL;
	OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
	OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
	OTF2_GlobalDefReaderCallbacks_SetParadigmCallback(c, on_paradigm);
	OTF2_GlobalDefReaderCallbacks_SetAttributeCallback(c, on_attribute);
	OTF2_GlobalDefReaderCallbacks_SetParameterCallback(c, on_parameter);
	OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, on_node);
	OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeDomainCallback(c, on_node_domain);
	OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodePropertyCallback(c, on_node_property);
	OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_group);
	OTF2_GlobalDefReaderCallbacks_SetLocationGroupPropertyCallback(c, on_group_property);
	OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
	OTF2_GlobalDefReaderCallbacks_SetLocationPropertyCallback(c, on_location_property);
	OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
	OTF2_GlobalDefReaderCallbacks_SetSourceCodeLocationCallback(c, on_source);
	OTF2_GlobalDefReaderCallbacks_SetInterruptGeneratorCallback(c, on_generator);
	OTF2_GlobalDefReaderCallbacks_SetCallingContextCallback(c, on_context);
	OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_list);
	OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
	OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(c, on_inter_comm);
	OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback(c, on_window);
	OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback(c, on_member);
	OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback(c, on_metric_class);
	OTF2_GlobalDefReaderCallbacks_SetMetricInstanceCallback(c, on_metric_instance);
	return c;
}

void otf2r_release_definitions(struct reader *r)
{
	struct map *const maps[] = {
		&r->texts_at,      &r->regions_at, &r->nodes_at,      &r->groups_at,
		&r->places_at,     &r->lists_at,   &r->comms_at,      &r->windows_at,
		&r->attributes_at, &r->members_at, &r->parameters_at, &r->metrics_at,
		&r->contexts_at,   &r->sources_at, &r->generators_at, &r->notes_at};
	void *const lists[] = {r->texts,      r->regions, r->nodes,      r->groups,   r->comms,
			       r->windows,    r->members, r->metrics,    r->contexts, r->attributes,
			       r->parameters, r->sources, r->generators, r->notes};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		free(lists[i]);
	for (uint32_t i = 0; i < r->lists_count; i++)
		map_release(&r->lists[i].ranks);
	free(r->lists);
	for (uint32_t i = 0; i < r->places_count; i++) {
		free(r->places[i].frames);
		free(r->places[i].arguments);
		free(r->places[i].sends);
	}
	free(r->places);
}
