/* calls.h - the OpenCL functions that this backend hooks, once.
 *
 * Everything that needs the list (API numbers, names, prototypes, the layer's
 * table, patching of a vendor's table) is generated from these maps; each
 * function's hook is written once, in the file named beside its map.
 */
#ifndef SONDE_OPENCL_CALLS_H
#define SONDE_OPENCL_CALLS_H

/* Calls that put an operation on a queue (enqueue.c). */
#define SONDE_CL_ENQUEUE_MAP(X)       \
    X(clEnqueueNDRangeKernel)         \
    X(clEnqueueTask)                  \
    X(clEnqueueNativeKernel)          \
    X(clEnqueueReadBuffer)            \
    X(clEnqueueReadBufferRect)        \
    X(clEnqueueWriteBuffer)           \
    X(clEnqueueWriteBufferRect)       \
    X(clEnqueueCopyBuffer)            \
    X(clEnqueueCopyBufferRect)        \
    X(clEnqueueFillBuffer)            \
    X(clEnqueueReadImage)             \
    X(clEnqueueWriteImage)            \
    X(clEnqueueCopyImage)             \
    X(clEnqueueFillImage)             \
    X(clEnqueueCopyImageToBuffer)     \
    X(clEnqueueCopyBufferToImage)     \
    X(clEnqueueMapBuffer)             \
    X(clEnqueueMapImage)              \
    X(clEnqueueUnmapMemObject)        \
    X(clEnqueueMigrateMemObjects)     \
    X(clEnqueueSVMMemcpy)             \
    X(clEnqueueSVMMemFill)            \
    X(clEnqueueSVMMap)                \
    X(clEnqueueSVMUnmap)              \
    X(clEnqueueSVMFree)               \
    X(clEnqueueSVMMigrateMem)         \
    X(clEnqueueMarker)                \
    X(clEnqueueMarkerWithWaitList)    \
    X(clEnqueueBarrier)               \
    X(clEnqueueBarrierWithWaitList)   \
    X(clEnqueueWaitForEvents)         \
    X(clEnqueueAcquireGLObjects)      \
    X(clEnqueueReleaseGLObjects)      \
    X(clEnqueueAcquireEGLObjectsKHR)  \
    X(clEnqueueReleaseEGLObjectsKHR)

/* Calls that make, wait or free, without an operation (create.c). */
#define SONDE_CL_CALL_MAP(X)             \
    X(clFinish)                          \
    X(clFlush)                           \
    X(clWaitForEvents)                   \
    X(clSetUserEventStatus)              \
    X(clBuildProgram)                    \
    X(clCompileProgram)                  \
    X(clLinkProgram)                     \
    X(clCreateContext)                   \
    X(clCreateContextFromType)           \
    X(clReleaseContext)                  \
    X(clCreateCommandQueue)              \
    X(clCreateCommandQueueWithProperties) \
    X(clReleaseCommandQueue)             \
    X(clCreateProgramWithSource)         \
    X(clCreateProgramWithBinary)         \
    X(clCreateProgramWithBuiltInKernels) \
    X(clCreateProgramWithIL)             \
    X(clCreateKernel)                    \
    X(clCreateKernelsInProgram)          \
    X(clCloneKernel)                     \
    X(clCreateBuffer)                    \
    X(clCreateBufferWithProperties)      \
    X(clCreateSubBuffer)                 \
    X(clCreateImage)                     \
    X(clCreateImageWithProperties)       \
    X(clCreateImage2D)                   \
    X(clCreateImage3D)                   \
    X(clCreateFromGLBuffer)              \
    X(clCreateFromGLTexture)             \
    X(clCreateFromGLTexture2D)           \
    X(clCreateFromGLTexture3D)           \
    X(clCreateFromGLRenderbuffer)        \
    X(clCreateFromEGLImageKHR)           \
    X(clCreatePipe)                      \
    X(clSVMAlloc)                        \
    X(clSVMFree)                         \
    X(clReleaseMemObject)

/* Functions that are not enqueued through the dispatch table: programs ask for
 * their address (extensions.c). */
#define SONDE_CL_EXTENSION_MAP(X)             \
    X(clCreateCommandBufferKHR)               \
    X(clEnqueueCommandBufferKHR)              \
    X(clEnqueueMemcpyINTEL)                   \
    X(clEnqueueMemFillINTEL)                  \
    X(clEnqueueMigrateMemINTEL)               \
    X(clHostMemAllocINTEL)                    \
    X(clDeviceMemAllocINTEL)                  \
    X(clSharedMemAllocINTEL)                  \
    X(clMemFreeINTEL)                         \
    X(clMemBlockingFreeINTEL)                 \
    X(clSetKernelArgMemPointerINTEL)          \
    X(clCreateCommandQueueWithPropertiesKHR)  \
    X(clCreateProgramWithILKHR)

/* Queries that must answer as without us, and what tells of events, arguments and constants;
 * never recorded (queries.c, arguments.c, il.c). */
#define SONDE_CL_QUERY_MAP(X)                    \
    X(clGetPlatformIDs)                          \
    X(clGetDeviceIDs)                            \
    X(clGetDeviceInfo)                           \
    X(clGetContextInfo)                          \
    X(clGetCommandQueueInfo)                     \
    X(clSetCommandQueueProperty)                 \
    X(clGetMemObjectInfo)                        \
    X(clGetProgramInfo)                          \
    X(clGetKernelInfo)                           \
    X(clGetEventInfo)                            \
    X(clGetEventProfilingInfo)                   \
    X(clCreateUserEvent)                         \
    X(clCreateEventFromGLsyncKHR)                \
    X(clCreateEventFromEGLSyncKHR)               \
    X(clSetKernelArg)                            \
    X(clSetKernelArgSVMPointer)                  \
    X(clSetKernelExecInfo)                       \
    X(clSetProgramSpecializationConstant)        \
    X(clReleaseEvent)                            \
    X(clSetContextDestructorCallback)            \
    X(clSetMemObjectDestructorCallback)          \
    X(clGetExtensionFunctionAddress)             \
    X(clGetExtensionFunctionAddressForPlatform)

/* Everything that stands in a dispatch table. */
#define SONDE_CL_TABLE_MAP(X) \
    SONDE_CL_ENQUEUE_MAP(X)   \
    SONDE_CL_CALL_MAP(X)      \
    SONDE_CL_QUERY_MAP(X)

/* Everything that is recorded. */
#define SONDE_CL_API_MAP(X)   \
    SONDE_CL_ENQUEUE_MAP(X)   \
    SONDE_CL_CALL_MAP(X)      \
    SONDE_CL_EXTENSION_MAP(X)

#endif
