/* image.c - what operations write in images (sonde record --values).
 *
 * A region of an image is copied to a buffer, before and after, where its pixels lie one behind the other; these are compared. What is known of the contents
 * of an image counts its bytes as if rows had no padding.
 */
#include "values.h"

struct shape {
    size_t pixels[3]; /* as regions have them: layers of an array are the last that it has */
    size_t pixel_bytes;
    uint32_t channel_bytes;
};

static uint32_t channel_bytes(cl_channel_type type, size_t pixel_bytes)
{
    switch (type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
        return 1;
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT:
        return 2;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT:
        return 4;
    default: /* a pixel is one number */
        return pixel_bytes == 2 ? 2 : 4;
    }
}

static size_t asked(const cl_icd_dispatch *real, cl_mem image, cl_image_info what)
{
    size_t value = 0;
    real->clGetImageInfo(image, what, sizeof value, &value, NULL);
    return value ? value : 1; /* as a region has it */
}

/* False: it is none, or one with several levels or samples. */
static bool shape_of(const cl_icd_dispatch *real, cl_mem image, struct shape *s)
{
    cl_mem_object_type type = 0;
    cl_image_format format;
    cl_uint levels = 0, samples = 0;
    if (real->clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof type, &type, NULL) != CL_SUCCESS ||
        real->clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof format, &format, NULL) != CL_SUCCESS)
        return false;
    real->clGetImageInfo(image, CL_IMAGE_NUM_MIP_LEVELS, sizeof levels, &levels, NULL);
    real->clGetImageInfo(image, CL_IMAGE_NUM_SAMPLES, sizeof samples, &samples, NULL);
    const bool layers = type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    s->pixels[0] = asked(real, image, CL_IMAGE_WIDTH);
    s->pixels[1] = asked(real, image, type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? CL_IMAGE_ARRAY_SIZE : CL_IMAGE_HEIGHT);
    s->pixels[2] = type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 1 : asked(real, image, layers ? CL_IMAGE_ARRAY_SIZE : CL_IMAGE_DEPTH);
    s->pixel_bytes = sonde__cl_pixel_bytes(image);
    s->channel_bytes = channel_bytes(format.image_channel_data_type, s->pixel_bytes);
    return levels <= 1 && samples <= 1 && s->pixel_bytes;
}

/* The first and the last byte that the region has, and whether all between them are its own. */
static bool stretch_of(const struct shape *s, const struct target *t, uint64_t *from, uint64_t *to)
{
    const size_t row = s->pixels[0], slice = row * s->pixels[1];
    const uint64_t first = t->origin[0] + t->origin[1] * row + t->origin[2] * slice;
    const uint64_t last = first + t->region[0] - 1 + (t->region[1] - 1) * row + (t->region[2] - 1) * slice;
    *from = first * s->pixel_bytes;
    *to = (last + 1) * s->pixel_bytes;
    return last + 1 - first == (uint64_t)t->region[0] * t->region[1] * t->region[2];
}

/* There was something before in all of it. */
static bool define(const struct shape *s, const struct target *t)
{
    uint64_t from, to;
    const bool all = stretch_of(s, t, &from, &to);
    const uint64_t bytes = to - from;
    if (!all)
        return sonde__cl_values_defined(t->known, from, to);
    sonde__cl_values_define(t->known, &from, &to);
    return to - from == bytes;
}

bool sonde__cl_image_target(const cl_icd_dispatch *real, cl_mem image, const size_t *origin, const size_t *region, struct target *t)
{
    struct shape s;
    *t = (struct target){.mem = image, .is_image = true, .known = sonde__cl_mem(image), .object = sonde__cl_mem_object(image), .maybe = !region};
    if (!t->known || !shape_of(real, image, &s))
        return false;
    t->bytes = s.pixel_bytes;
    for (int k = 0; k < 3; k++) {
        t->origin[k] = region ? origin[k] : 0;
        t->region[k] = region ? region[k] : s.pixels[k];
        if (!t->region[k] || t->region[k] > s.pixels[k] || t->origin[k] > s.pixels[k] - t->region[k])
            return false;
        t->bytes *= t->region[k];
    }
    t->element_bytes = s.channel_bytes;
    if (!define(&s, t))
        t->bytes = 0;
    return true;
}
