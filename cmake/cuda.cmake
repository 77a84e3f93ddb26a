# The headers that the CUDA backend is compiled with: an installed toolkit's when
# it is 13.0 or later and has CUPTI's, otherwise NVIDIA's wheels from PyPI
# (tools/cuda-headers.sh). Headers only: CUPTI and the driver are opened at run
# time. Defines the target sonde-cuda-headers.
#
# The Compute Sanitizer engine (--values-engine=sanitizer) is left out where its
# headers are missing; its patches are device code, and where nvcc is missing
# they are: that engine then says so when it is asked for. Defines
# the target sonde-patches.
option(SONDE_CUDA "Build the CUDA backend" ON)

# Sets `result` to the include folders of a toolkit, when they are all there.
function(sonde_cuda_toolkit root result)
  set(folders ${root}/include)
  if(EXISTS ${root}/extras/CUPTI/include/cupti.h)
    list(APPEND folders ${root}/extras/CUPTI/include)
  endif()
  foreach(header cuda.h cupti.h cupti_version.h generated_cuda_meta.h nvml.h cuda_occupancy.h nvtx3/nvToolsExt.h)
    set(found FALSE)
    foreach(folder ${folders})
      if(EXISTS ${folder}/${header})
        set(found ${folder}/${header})
      endif()
    endforeach()
    if(NOT found)
      return()
    endif()
    if(header STREQUAL cupti_version.h)
      file(STRINGS ${found} line REGEX "^#define CUPTI_API_VERSION [0-9]+")
      string(REGEX MATCH "[0-9]+$" version "${line}")
      if(NOT version OR version LESS 130000)
        return()
      endif()
    endif()
  endforeach()
  set(${result} ${folders} PARENT_SCOPE)
endfunction()

# Sets `result` to the folder of the Sanitizer's headers: that of a toolkit, or the one that was unpacked.
function(sonde_sanitizer_headers folders result)
  foreach(folder ${folders})
    foreach(place ${folder} ${folder}/../compute-sanitizer/include ${folder}/../extras/compute-sanitizer/include)
      if(EXISTS ${place}/sanitizer_patching.h)
        set(${result} ${place} PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endforeach()
  message(STATUS "No headers of the Compute Sanitizer API: without --values-engine=sanitizer")
endfunction()

# What Compute Sanitizer puts into kernels, for the devices that this nvcc knows: machine code of one runs on later ones of its generation.
function(sonde_patches sanitizer)
  file(GLOB toolkits /usr/local/cuda*/bin /opt/cuda/bin)
  find_program(SONDE_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin ${toolkits})
  if(NOT SONDE_NVCC)
    message(STATUS "No nvcc: --values-engine=sanitizer will have no patches")
    return()
  endif()
  execute_process(COMMAND ${SONDE_NVCC} --list-gpu-code OUTPUT_VARIABLE known)
  set(code "")
  foreach(device 70 75 80 86 89 90 100 103 110 120)
    if(known MATCHES "sm_${device}\n")
      list(APPEND code -gencode arch=compute_${device},code=sm_${device})
    endif()
  endforeach()
  set(source ${CMAKE_SOURCE_DIR}/src/instrument/patch)
  set(target ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/sonde-patches.fatbin)
  add_custom_command(OUTPUT ${target}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}
    COMMAND ${SONDE_NVCC} -std=c++17 -fatbin --compile-as-tools-patch --keep-device-functions ${code} -I ${sanitizer} -o ${target} ${source}.cu
    DEPENDS ${source}.cu ${source}.h VERBATIM)
  add_custom_target(sonde-patches ALL DEPENDS ${target})
  set(SONDE_PATCHES ${target} PARENT_SCOPE)
endfunction()

add_library(sonde-cuda-headers INTERFACE)
if(SONDE_CUDA)
  set(folders "")
  file(GLOB roots /usr/local/cuda /usr/local/cuda-13* /opt/cuda)
  foreach(root $ENV{CUDA_HOME} $ENV{CUDA_PATH} ${roots})
    if(NOT folders)
      sonde_cuda_toolkit(${root} folders)
    endif()
  endforeach()
  if(NOT folders)
    # The builds of one checkout share what was unpacked for the first.
    set(place ${CMAKE_BINARY_DIR}/cuda-headers)
    if(EXISTS ${CMAKE_SOURCE_DIR}/build/cuda-headers/.complete)
      set(place ${CMAKE_SOURCE_DIR}/build/cuda-headers)
    endif()
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/cuda-headers.sh ${place} RESULT_VARIABLE status ERROR_VARIABLE said)
    if(status)
      message(FATAL_ERROR "The CUDA backend needs the headers of CUDA 13 and CUPTI.\n${said}"
              "Install a CUDA toolkit (13.0 or later), or let this machine reach PyPI, or leave the backend out: "
              "cmake -DSONDE_CUDA=OFF")
    endif()
    set(folders ${place}/include)
  endif()
  message(STATUS "CUDA headers: ${folders}")
  target_include_directories(sonde-cuda-headers SYSTEM INTERFACE ${folders})
  # cupti_profiler_host.h includes a header of C++.
  target_include_directories(sonde-cuda-headers SYSTEM INTERFACE $<$<COMPILE_LANGUAGE:C>:${CMAKE_SOURCE_DIR}/src/backends/cuda/cxx>)
  target_compile_definitions(sonde-cuda-headers INTERFACE SONDE_CUDA)
  sonde_sanitizer_headers("${folders}" sanitizer)
  if(sanitizer)
    target_include_directories(sonde-cuda-headers SYSTEM INTERFACE ${sanitizer})
    target_compile_definitions(sonde-cuda-headers INTERFACE SONDE_SANITIZER)
    if(NOT SONDE_SANITIZE) # no program of these builds gets them
      sonde_patches(${sanitizer})
    endif()
  endif()
endif()
