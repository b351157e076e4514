/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of libva that draws nothing: all succeed but to end the picture of a context which it does not know. */
#include <va/va_backend.h>

enum { CONTEXT = 17 };

static VAStatus good(VADriverContextP c)
{
	return VA_STATUS_SUCCESS;
}

static VAStatus create_config(VADriverContextP c, VAProfile profile, VAEntrypoint entry,
			      VAConfigAttrib *attributes, int count, VAConfigID *id)
{
	*id = 5;
	return VA_STATUS_SUCCESS;
}

static VAStatus create_surfaces(VADriverContextP c, unsigned format, unsigned width,
				unsigned height, VASurfaceID *surfaces, unsigned count,
				VASurfaceAttrib *attributes, unsigned attribute_count)
{
	for (unsigned i = 0; i < count; i++)
		surfaces[i] = 100 + i;
	return VA_STATUS_SUCCESS;
}

static VAStatus create_context(VADriverContextP c, VAConfigID config, int width, int height,
			       int flag, VASurfaceID *targets, int count, VAContextID *id)
{
	*id = CONTEXT;
	return VA_STATUS_SUCCESS;
}

static VAStatus create_buffer(VADriverContextP c, VAContextID context, VABufferType type,
			      unsigned size, unsigned count, void *data, VABufferID *id)
{
	*id = 9;
	return VA_STATUS_SUCCESS;
}

static VAStatus end_picture(VADriverContextP c, VAContextID context)
{
	return context == CONTEXT ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONTEXT;
}

/* Its name has the version of the interface. */
#define NAME(major, minor)    __vaDriverInit_##major##_##minor
#define NAME_OF(major, minor) NAME(major, minor)
#define START                 NAME_OF(VA_MAJOR_VERSION, VA_MINOR_VERSION)

VAStatus START(VADriverContextP c);

VAStatus START(VADriverContextP c)
{
	/* What is never called must be there, too. */
	for (unsigned i = 0; i < sizeof(*c->vtable) / sizeof(void *); i++)
		((void **)c->vtable)[i] = (void *)good;
	c->vtable->vaCreateConfig = create_config;
	c->vtable->vaCreateSurfaces2 = create_surfaces;
	c->vtable->vaCreateContext = create_context;
	c->vtable->vaCreateBuffer = create_buffer;
	c->vtable->vaEndPicture = end_picture;
	c->version_major = VA_MAJOR_VERSION;
	c->version_minor = VA_MINOR_VERSION;
	c->max_profiles = c->max_entrypoints = c->max_attributes = c->max_image_formats = 1;
	c->max_subpic_formats = c->max_display_attributes = 1;
	c->str_vendor = "none";
	return VA_STATUS_SUCCESS;
}
