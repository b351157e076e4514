/* SPDX-License-Identifier: Apache-2.0 */
/* A picture by VA-API, with the driver of va_driver.c. */
#include <stdlib.h>
#include <va/va.h>
#include <va/va_backend.h>

#include "calls.h"

/* Of libva, for its libraries of displays. */
VADisplayContextP va_newDisplayContext(void);
VADriverContextP va_newDriverContext(VADisplayContextP display);

static int valid(VADisplayContextP display)
{
	return 1;
}

static void destroy(VADisplayContextP display)
{
}

static VAStatus driver_name(VADisplayContextP display, char **name, int index)
{
	*name = strdup("made");
	return VA_STATUS_SUCCESS;
}

static VAStatus driver_count(VADisplayContextP display, int *count)
{
	*count = 1;
	return VA_STATUS_SUCCESS;
}

/* A display of no kind: there is neither a screen nor a render node here. */
static VADisplay made_display(void)
{
	VADisplayContextP display = va_newDisplayContext();
	VADriverContextP driver = va_newDriverContext(display);

	display->vaIsValid = valid;
	display->vaDestroy = destroy;
	display->vaGetDriverNameByIndex = driver_name;
	display->vaGetNumCandidates = driver_count;
	driver->display_type = VA_DISPLAY_X11;
	return display;
}

int main(void)
{
	VADisplay display = made_display();
	VASurfaceID surfaces[2];
	VAContextID context;
	VAConfigID config;
	VABufferID buffer;
	int major, minor;

	if (CALL(vaInitialize)(display, &major, &minor) != VA_STATUS_SUCCESS)
		return 77;
	CALL(vaCreateConfig)(display, VAProfileH264Main, VAEntrypointVLD, NULL, 0, &config);
	CALL(vaCreateSurfaces)(display, VA_RT_FORMAT_YUV420, 640, 480, surfaces, 2, NULL, 0);
	CALL(vaCreateContext)(display, config, 640, 480, VA_PROGRESSIVE, surfaces, 2, &context);
	CALL(vaCreateBuffer)(display, context, VASliceDataBufferType, 1234, 1, NULL, &buffer);
	for (int i = 0; i < 2; i++) {
		CALL(vaBeginPicture)(display, context, surfaces[i]);
		CALL(vaRenderPicture)(display, context, &buffer, 1);
		printf("end %d\n", CALL(vaEndPicture)(display, context + (VAContextID)i));
		CALL(vaSyncSurface)(display, surfaces[i]);
	}
	CALL(vaDestroyBuffer)(display, buffer);
	CALL(vaDestroyContext)(display, context);
	CALL(vaDestroySurfaces)(display, surfaces, 2);
	CALL(vaDestroyConfig)(display, config);
	CALL(vaTerminate)(display);
	calls_print();
	return 0;
}
