/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of transfer that OpenCL has, blocking and not, with data that shows whether it
 * arrived. Tallies the bytes by kind: what was moved, without the gaps between rows.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

enum {
	SIDE = 64,          /* of the square that stands for a buffer or an image */
	SIZE = SIDE * SIDE, /* its bytes as a buffer of chars */
	PIXEL = 4,          /* bytes of an image's pixel */
	IMAGE = SIZE * PIXEL,
};

static cl_context context;
static cl_command_queue queue;
static unsigned char pattern[IMAGE], got[IMAGE];

static void expect_same(const char *what, const void *a, const void *b, size_t size)
{
	if (memcmp(a, b, size))
		fail("%s: the data differs", what);
}

/* Waits for a non-blocking command. */
static void finish(cl_event event)
{
	CHECK(clWaitForEvents, 1, &event);
	CHECK(clReleaseEvent, event);
}

/* --- buffers --------------------------------------------------------------------------------- */

static void write_and_read(cl_mem buffer)
{
	cl_event event;

	CHECK(clEnqueueWriteBuffer, queue, buffer, CL_TRUE, 0, SIZE, pattern, 0, NULL, NULL);
	tally_copy("write", SIZE);
	CHECK(clEnqueueWriteBuffer, queue, buffer, CL_FALSE, 0, 101, pattern, 0, NULL, &event);
	finish(event);
	tally_copy("write", 101);

	memset(got, 0, sizeof(got));
	CHECK(clEnqueueReadBuffer, queue, buffer, CL_TRUE, 0, SIZE, got, 0, NULL, NULL);
	tally_copy("read", SIZE);
	expect_same("read", got, pattern, SIZE);
	memset(got, 0, sizeof(got));
	CHECK(clEnqueueReadBuffer, queue, buffer, CL_FALSE, 7, 103, got, 0, NULL, &event);
	finish(event);
	tally_copy("read", 103);
	expect_same("read", got, pattern + 7, 103);
}

static void copy(cl_mem from, cl_mem to)
{
	CHECK(clEnqueueCopyBuffer, queue, from, to, 10, 20, 107, 0, NULL, NULL);
	tally_copy("copy", 107);
	CHECK(clEnqueueReadBuffer, queue, to, CL_TRUE, 20, 107, got, 0, NULL, NULL);
	tally_copy("read", 107);
	expect_same("copy", got, pattern + 10, 107);
}

static void expect_rect(const char *what, const unsigned char *a, const unsigned char *b,
			const size_t region[3])
{
	for (size_t y = 0; y < region[1]; y++)
		expect_same(what, a + y * SIDE, b + y * SIDE, region[0]);
}

static void rects(cl_mem from, cl_mem to)
{
	const size_t origin[3] = {3, 4, 0}, zero[3] = {0, 0, 0};
	const size_t written[3] = {11, 5, 1}, copied[3] = {10, 5, 1}, read[3] = {9, 5, 1};
	cl_event event;

	CHECK(clEnqueueWriteBufferRect, queue, from, CL_TRUE, origin, zero, written, SIDE, 0, SIDE,
	      0, pattern, 0, NULL, NULL);
	tally_copy("write_rect", written[0] * written[1]);
	CHECK(clEnqueueCopyBufferRect, queue, from, to, origin, zero, copied, SIDE, 0, SIDE, 0, 0,
	      NULL, NULL);
	tally_copy("copy_rect", copied[0] * copied[1]);
	CHECK(clEnqueueReadBufferRect, queue, to, CL_FALSE, zero, zero, read, SIDE, 0, SIDE, 0, got,
	      0, NULL, &event);
	finish(event);
	tally_copy("read_rect", read[0] * read[1]);
	expect_rect("rects", got, pattern, read);
}

static void fill(cl_mem buffer)
{
	const int value = 0x01020304;
	int filled[32];

	CHECK(clEnqueueFillBuffer, queue, buffer, &value, sizeof(value), 0, sizeof(filled), 0, NULL,
	      NULL);
	tally_copy("fill", sizeof(filled));
	CHECK(clEnqueueReadBuffer, queue, buffer, CL_TRUE, 0, sizeof(filled), filled, 0, NULL,
	      NULL);
	tally_copy("read", sizeof(filled));
	for (size_t i = 0; i < 32; i++)
		expect("a filled cell", filled[i], value);
}

static void map(cl_mem buffer)
{
	cl_event event;
	cl_int error;
	unsigned char *mapped = CALL(clEnqueueMapBuffer, queue, buffer, CL_TRUE,
				     CL_MAP_WRITE_INVALIDATE_REGION, 0, 512, 0, NULL, NULL, &error);

	check(error, "clEnqueueMapBuffer");
	tally_copy("map", 512);
	memcpy(mapped, pattern, 512);
	CHECK(clEnqueueUnmapMemObject, queue, buffer, mapped, 0, NULL, NULL);
	tally_copy("unmap", 512);

	mapped = CALL(clEnqueueMapBuffer, queue, buffer, CL_FALSE, CL_MAP_READ, 8, 256, 0, NULL,
		      &event, &error);
	check(error, "clEnqueueMapBuffer");
	finish(event);
	tally_copy("map", 256);
	expect_same("map", mapped, pattern + 8, 256);
	CHECK(clEnqueueUnmapMemObject, queue, buffer, mapped, 0, NULL, NULL);
	tally_copy("unmap", 0); /* it was only read */
}

static void migrate(cl_mem a, cl_mem b)
{
	cl_mem both[2] = {a, b};

	CHECK(clEnqueueMigrateMemObjects, queue, 2, both, 0, 0, NULL, NULL);
	tally_copy("migrate", 2 * SIZE);
	CHECK(clEnqueueMigrateMemObjects, queue, 1, both, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL,
	      NULL);
	tally_copy("migrate", SIZE);
	CHECK(clFinish, queue);
}

/* A sub-buffer: its bytes are its parent's. */
static void sub_buffer(cl_mem parent)
{
	const cl_buffer_region region = {1024, 128};
	cl_int error;
	cl_mem part = CALL(clCreateSubBuffer, parent, CL_MEM_READ_WRITE,
			   CL_BUFFER_CREATE_TYPE_REGION, &region, &error);

	check(error, "clCreateSubBuffer");
	CHECK(clEnqueueWriteBuffer, queue, part, CL_TRUE, 0, 128, pattern, 0, NULL, NULL);
	tally_copy("write", 128);
	CHECK(clEnqueueReadBuffer, queue, parent, CL_TRUE, 1024, 128, got, 0, NULL, NULL);
	tally_copy("read", 128);
	expect_same("sub-buffer", got, pattern, 128);
	CHECK(clReleaseMemObject, part);
}

/* --- images ---------------------------------------------------------------------------------- */

static cl_mem make_image(void)
{
	const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
	cl_int error;
	cl_mem image =
		CALL(clCreateImage, context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);

	check(error, "clCreateImage");
	return image;
}

static void write_and_read_image(cl_mem image)
{
	const size_t origin[3] = {0, 0, 0}, region[3] = {SIDE, SIDE, 1}, part[3] = {SIDE, 2, 1};
	cl_event event;

	CHECK(clEnqueueWriteImage, queue, image, CL_FALSE, origin, region, 0, 0, pattern, 0, NULL,
	      &event);
	finish(event);
	tally_copy("write_image", IMAGE);
	CHECK(clEnqueueReadImage, queue, image, CL_TRUE, origin, part, 0, 0, got, 0, NULL, NULL);
	tally_copy("read_image", SIDE * 2 * PIXEL);
	expect_same("image", got, pattern, SIDE * 2 * PIXEL);
}

static void copy_images(cl_mem from, cl_mem to, cl_mem buffer)
{
	const size_t zero[3] = {0, 0, 0}, three[3] = {SIDE, 3, 1}, four[3] = {SIDE, 4, 1},
		     five[3] = {SIDE, 5, 1};

	CHECK(clEnqueueCopyImage, queue, from, to, zero, zero, five, 0, NULL, NULL);
	tally_copy("copy_image", SIDE * 5 * PIXEL);
	CHECK(clEnqueueCopyImageToBuffer, queue, to, buffer, zero, four, 0, 0, NULL, NULL);
	tally_copy("copy_image_to_buffer", SIDE * 4 * PIXEL);
	CHECK(clEnqueueReadBuffer, queue, buffer, CL_TRUE, 0, SIDE * 4 * PIXEL, got, 0, NULL, NULL);
	tally_copy("read", SIDE * 4 * PIXEL);
	expect_same("image to buffer", got, pattern, SIDE * 4 * PIXEL);
	CHECK(clEnqueueCopyBufferToImage, queue, buffer, to, SIDE * PIXEL, zero, three, 0, NULL,
	      NULL);
	tally_copy("copy_buffer_to_image", SIDE * 3 * PIXEL);
	CHECK(clEnqueueReadImage, queue, to, CL_TRUE, zero, three, 0, 0, got, 0, NULL, NULL);
	tally_copy("read_image", SIDE * 3 * PIXEL);
	expect_same("buffer to image", got, pattern + SIDE * PIXEL, SIDE * 3 * PIXEL);
}

static void fill_and_map_image(cl_mem image)
{
	const size_t zero[3] = {0, 0, 0}, six[3] = {SIDE, 6, 1}, seven[3] = {SIDE, 7, 1};
	const cl_uint color[4] = {1, 2, 3, 4};
	const unsigned char pixel[PIXEL] = {1, 2, 3, 4};
	size_t row_pitch = 0;
	cl_int error;
	unsigned char *mapped;

	CHECK(clEnqueueFillImage, queue, image, color, zero, seven, 0, NULL, NULL);
	tally_copy("fill_image", SIDE * 7 * PIXEL);
	mapped = CALL(clEnqueueMapImage, queue, image, CL_TRUE, CL_MAP_READ, zero, six, &row_pitch,
		      NULL, 0, NULL, NULL, &error);
	check(error, "clEnqueueMapImage");
	tally_copy("map_image", SIDE * 6 * PIXEL);
	for (size_t y = 0; y < 6; y++)
		for (size_t x = 0; x < SIDE; x++)
			expect_same("fill image", mapped + y * row_pitch + x * PIXEL, pixel, PIXEL);
	CHECK(clEnqueueUnmapMemObject, queue, image, mapped, 0, NULL, NULL);
	tally_copy("unmap", 0);
	CHECK(clFinish, queue);
}

static void use_images(cl_device_id device, cl_mem buffer)
{
	cl_bool has_images = CL_FALSE;
	cl_mem image, other;

	CHECK(clGetDeviceInfo, device, CL_DEVICE_IMAGE_SUPPORT, sizeof(has_images), &has_images,
	      NULL);
	tally_fact("images", has_images);
	if (!has_images)
		return;
	image = make_image();
	other = make_image();
	write_and_read_image(image);
	copy_images(image, other, buffer);
	fill_and_map_image(image);
	CHECK(clReleaseMemObject, image);
	CHECK(clReleaseMemObject, other);
}

int main(int argc, char **argv)
{
	cl_device_id device;
	cl_mem a, b;

	program_start("ocl_copies", argc, argv, NULL);
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i * 7 + i / 251);
	device = first_device();
	context = make_context(device);
	queue = make_queue(context, device, 0);
	a = make_buffer(context, SIZE);
	b = make_buffer(context, SIZE);

	write_and_read(a);
	copy(a, b);
	rects(a, b);
	fill(b);
	map(a);
	migrate(a, b);
	sub_buffer(a);
	use_images(device, b);

	CHECK(clReleaseMemObject, a);
	CHECK(clReleaseMemObject, b);
	CHECK(clReleaseCommandQueue, queue);
	CHECK(clReleaseContext, context);
	return program_end();
}
