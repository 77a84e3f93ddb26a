/* images.c - images: regions of them, kernels with them, and such as have no contents yet: cases of values.c. */
#include "values.h"

enum { WIDTH = 12,
       HEIGHT = 7,
       LAYERS = 5,
       PIXELS = WIDTH * HEIGHT * LAYERS };

static cl_mem image(cl_mem_object_type type, cl_channel_type channel, bool contents)
{
    static unsigned char zeros[16 * PIXELS];
    const cl_image_format format = {CL_RGBA, channel};
    const cl_image_desc shape = {.image_type = type, .image_width = WIDTH, .image_height = HEIGHT, .image_depth = LAYERS, .image_array_size = LAYERS};
    cl_mem made;
    CLP(made = clCreateImage(context, CL_MEM_READ_WRITE | (contents ? CL_MEM_COPY_HOST_PTR : 0), &format, &shape, contents ? zeros : NULL, &status));
    return made;
}

/* The pixels of a region, one behind the other; `back`: from there to their places. */
static void pixels(unsigned char *all, unsigned char *packed, const size_t *origin, const size_t *region, size_t height, size_t bytes, bool back)
{
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++, packed += region[0] * bytes) {
            unsigned char *row = all + (((origin[2] + z) * height + origin[1] + y) * WIDTH + origin[0]) * bytes;
            memcpy(back ? row : packed, back ? packed : row, region[0] * bytes);
        }
}

/* Regions of images of four shapes and three formats: written, copied, filled, copied from a buffer; a kernel that may write all; a copy to a buffer. */
void images(void)
{
    static const cl_mem_object_type types[] = {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D};
    static const cl_channel_type channels[] = {CL_UNSIGNED_INT8, CL_UNSIGNED_INT16, CL_UNSIGNED_INT32};
    static const char *const names[] = {"clEnqueueWriteImage", "clEnqueueCopyImage", "clEnqueueFillImage", "clEnqueueCopyBufferToImage"};
    static unsigned char there[16 * PIXELS], before[16 * PIXELS], after[16 * PIXELS], marks[16 * PIXELS];
    const size_t none[3] = {0, 0, 0};
    uint32_t random = 1;
    memset(marks, 1, sizeof marks);
    for (int t = 0; t < 4; t++)
        for (int c = 0; c < 3; c++) {
            const size_t bytes = 4u << c, whole[3] = {WIDTH, t ? HEIGHT : 1, t > 1 ? LAYERS : 1};
            cl_mem a = image(types[t], channels[c], true), zeros = image(types[t], channels[c], true), packed = buffer(16 * PIXELS);
            memset(there, 0, sizeof there);
            for (int turn = 0; turn < 12; turn++) {
                size_t origin[3], region[3], count = 1;
                for (int k = 0; k < 3; k++) {
                    random = random * 1664525u + 1013904223u;
                    region[k] = 1 + (random >> 20) % whole[k];
                    origin[k] = (random >> 10) % (whole[k] - region[k] + 1);
                    count *= region[k];
                }
                pixels(there, before, origin, region, whole[1], bytes, false);
                for (size_t i = 0; i < count * bytes; i++)
                    after[i] = turn % 4 == 1 ? 0 : turn % 4 == 2 ? (i % ((size_t)1 << c) ? 0 : 3)
                                                                 : (unsigned char)(before[i] + (i * 2654435761u >> 7) % 5 / 4);
                const cl_uint colour[4] = {3, 3, 3, 3};
                if (turn % 4 == 0)
                    CL(clEnqueueWriteImage(queue, a, CL_TRUE, origin, region, 0, 0, after, 0, NULL, NULL));
                else if (turn % 4 == 1)
                    CL(clEnqueueCopyImage(queue, zeros, a, none, origin, region, 0, NULL, NULL));
                else if (turn % 4 == 2)
                    CL(clEnqueueFillImage(queue, a, colour, origin, region, 0, NULL, NULL));
                else {
                    CL(clEnqueueWriteBuffer(queue, packed, CL_TRUE, 8, count * bytes, after, 0, NULL, NULL));
                    CL(clEnqueueCopyBufferToImage(queue, packed, a, 8, origin, region, 0, NULL, NULL));
                }
                count_marked(before, after, marks, count * bytes, names[turn % 4]);
                pixels(there, after, origin, region, whole[1], bytes, true);
            }
            if (t == 1) {
                cl_kernel paint = kernel("paint");
                CL(clSetKernelArg(paint, 0, sizeof a, &a));
                memcpy(before, there, sizeof before);
                launch(paint, 8);
                for (size_t i = 0; i < 8 * bytes; i++)
                    there[i] = i % ((size_t)1 << c) ? 0 : 1;
                count_marked(before, there, marks, WIDTH * HEIGHT * bytes, "paint");
                CL(clReleaseKernel(paint));
            }
            CL(clEnqueueCopyImageToBuffer(queue, a, packed, none, whole, 0, 0, NULL, NULL));
            take(packed, whole[0] * whole[1] * whole[2] * bytes);
            CL(clEnqueueReadImage(queue, a, CL_TRUE, none, whole, 0, 0, after, 0, NULL, NULL));
            if (memcmp(after, there, whole[0] * whole[1] * whole[2] * bytes) != 0)
                exit(1);
            CL(clReleaseMemObject(a));
            CL(clReleaseMemObject(zeros));
            CL(clReleaseMemObject(packed));
        }
}

/* An image without contents: four rows, of which two are written again, then all, then a part that is no stretch of rows. A kernel reads one and writes another;
 * and one is written in a queue out of order. */
void fresh_images(void)
{
    static unsigned char zeros[16 * PIXELS];
    const size_t none[3] = {0, 0, 0}, rows[3] = {WIDTH, 4, 1}, some[3] = {WIDTH, 2, 1}, all[3] = {WIDTH, HEIGHT, 1}, part[3] = {3, 3, 1}, at[3] = {0, 2, 0};
    cl_mem a = image(CL_MEM_OBJECT_IMAGE2D, CL_UNSIGNED_INT32, false), b = image(CL_MEM_OBJECT_IMAGE2D, CL_UNSIGNED_INT32, false);
    cl_mem c = image(CL_MEM_OBJECT_IMAGE2D, CL_UNSIGNED_INT32, true);
    CL(clEnqueueWriteImage(queue, a, CL_TRUE, none, rows, 0, 0, zeros, 0, NULL, NULL));
    CL(clEnqueueWriteImage(queue, a, CL_TRUE, at, some, 0, 0, zeros, 0, NULL, NULL)); /* the first that is compared */
    CL(clEnqueueWriteImage(queue, a, CL_TRUE, none, all, 0, 0, zeros, 0, NULL, NULL));
    CL(clEnqueueWriteImage(queue, a, CL_TRUE, at, part, 0, 0, zeros, 0, NULL, NULL)); /* the second */
    const size_t items = WIDTH;
    cl_kernel stamp = kernel("stamp");
    CL(clSetKernelArg(stamp, 0, sizeof a, &a));
    CL(clSetKernelArg(stamp, 1, sizeof b, &b));
    for (int i = 0; i < 2; i++) /* of the first nothing is known; the second leaves all as it was */
        CL(clEnqueueNDRangeKernel(queue, stamp, 1, NULL, &items, NULL, 0, NULL, NULL));
    cl_command_queue any = out_of_order();
    const cl_uint colour[4] = {0, 0, 0, 0};
    const cl_event go = gate();
    cl_event event;
    CL(clEnqueueFillImage(any, c, colour, at, some, 1, &go, &event));
    CL(clEnqueueFillImage(any, c, colour, at, part, 1, &event, NULL));
    CL(clReleaseEvent(event));
    open_gate(go);
    CL(clFinish(any));
    CL(clReleaseCommandQueue(any));
    CL(clEnqueueReadImage(queue, a, CL_TRUE, none, all, 0, 0, zeros, 0, NULL, NULL));
    for (size_t i = 0; i < 16 * WIDTH * HEIGHT; i++)
        checksum = (checksum ^ zeros[i]) * 1099511628211u;
}
