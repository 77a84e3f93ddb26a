# sonde.wasm: what answers a viewer's requests, for a page that has its measurement within (docs/developers/viewer.md).
#
# Debian's clang, lld and wasi-libc compile the sources that `sonde` has, too. src/wasm stands in for what does not exist in a page:
# other threads, and this machine's files. Where a tool is missing, or the sources of the libraries cannot be had,
# sonde is built without it. Defines the target sonde-wasm then.
option(SONDE_WASM "Build sonde.wasm" ON)
set(SONDE_VIEWER_FILES ${CMAKE_BINARY_DIR}/share/sonde/viewer)

# Sets `result` to what is missing, in words; empty: nothing.
function(sonde_wasm_tools result)
  find_program(SONDE_WASM_CC NAMES clang)
  find_program(SONDE_WASM_LD NAMES wasm-ld)
  find_path(SONDE_WASI_HEADERS wasi/api.h PATHS /usr/include/wasm32-wasi NO_DEFAULT_PATH)
  find_path(SONDE_WASI_LIBC crt1-reactor.o PATHS /usr/lib/wasm32-wasi NO_DEFAULT_PATH)
  find_path(SONDE_XXHASH_HEADERS xxhash.h)
  set(missing "")
  foreach(tool SONDE_WASM_CC:clang SONDE_WASM_LD:lld SONDE_WASI_HEADERS:wasi-libc SONDE_WASI_LIBC:wasi-libc SONDE_XXHASH_HEADERS:libxxhash-dev)
    string(REPLACE ":" ";" tool ${tool})
    list(GET tool 0 variable)
    if(NOT ${variable})
      list(GET tool 1 package)
      list(APPEND missing ${package})
    endif()
  endforeach()
  if(SONDE_WASM_CC AND NOT SONDE_WASM_BUILTINS)
    execute_process(COMMAND ${SONDE_WASM_CC} --target=wasm32-wasi --rtlib=compiler-rt -print-libgcc-file-name
                    OUTPUT_VARIABLE builtins OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(EXISTS "${builtins}")
      set(SONDE_WASM_BUILTINS ${builtins} CACHE FILEPATH "What clang calls of its own library")
    else()
      list(APPEND missing "libclang-rt-*-dev-wasm32")
    endif()
  endif()
  if(NOT missing)
    # The builds of one checkout share what was unpacked for the first.
    set(place ${CMAKE_BINARY_DIR}/wasm-sources)
    if(EXISTS ${CMAKE_SOURCE_DIR}/build/wasm-sources/.complete)
      set(place ${CMAKE_SOURCE_DIR}/build/wasm-sources)
    endif()
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/wasm-sources.sh ${place} RESULT_VARIABLE status
                    ERROR_VARIABLE said ERROR_STRIP_TRAILING_WHITESPACE)
    set(SONDE_WASM_SOURCES ${place} PARENT_SCOPE)
    if(status)
      set(missing ${said})
    endif()
  endif()
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing ", " missing)
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()

# Compile `source`, which lies in `folder`, with the flags that follow; its object is appended to `objects` of who calls.
function(sonde_wasm_object folder source)
  set(object ${CMAKE_BINARY_DIR}/wasm/objects/${source}.o)
  get_filename_component(place ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${place})
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${SONDE_WASM_CC} ${ARGN} -MD -MF ${object}.d -c ${folder}/${source} -o ${object}
    DEPENDS ${folder}/${source} DEPFILE ${object}.d VERBATIM)
  set(objects ${objects} ${object} PARENT_SCOPE)
endfunction()

if(NOT SONDE_WASM OR SONDE_SANITIZE)
  return()
endif()
sonde_wasm_tools(missing)
if(missing)
  message(STATUS "Without sonde.wasm, which files of `sonde view --html` need: ${missing}")
  return()
endif()

set(headers ${CMAKE_BINARY_DIR}/wasm/include)
set(json_inline inline)
set(json_have_long_long 1)
set(json_have_localeconv 0)
set(json_have_atomic_builtins 1)
set(json_have_sync_builtins 0)
configure_file(${SONDE_WASM_SOURCES}/jansson/src/jansson_config.h.in ${headers}/jansson_config.h @ONLY)
file(CONFIGURE OUTPUT ${headers}/jansson_private_config.h CONTENT "")
configure_file(${SONDE_XXHASH_HEADERS}/xxhash.h ${headers}/xxhash.h COPYONLY)

# -nostdlibinc: clang would also look into this machine's own headers.
set(common --target=wasm32-wasi -nostdlibinc -D_WASI_EMULATED_MMAN -isystem ${CMAKE_SOURCE_DIR}/src/wasm
    -isystem ${SONDE_WASI_HEADERS} -isystem ${headers}
    -isystem ${SONDE_WASM_SOURCES}/include -isystem ${SONDE_WASM_SOURCES}/jansson/src -isystem ${SONDE_WASM_SOURCES}/zstd/lib -O2)
set(ours ${common} -std=gnu17 -D_GNU_SOURCE -DSONDE_VERSION="${PROJECT_VERSION}" -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}/src
    -Wall -Wextra -Wpedantic -Wshadow -Wno-gnu-zero-variadic-macro-arguments -Wno-missing-field-initializers)
set(theirs ${common} -w -I${SONDE_WASM_SOURCES}/iberty/include -DHAVE_STDLIB_H -DHAVE_STRING_H -DHAVE_STDINT_H -DIN_GLIBCPP_V3 -DZSTD_DISABLE_ASM)
if(SONDE_WERROR)
  list(APPEND ours -Werror)
endif()

set(objects "")
set(parts wasm base format analyze views serve)
list(TRANSFORM parts REPLACE "(.+)" "src/\\1/*.c")
file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${parts})
# What src/wasm stands in for, and what writes.
list(FILTER sources EXCLUDE REGEX "base/(parallel|stack)\\.c$|format/(folder|pack|seal)\\.c$|symbols/(code|cubin|debug_file|debug_names|disassembly|instructions|missing|nvdisasm|perf_map|sass|slice|types)\\.c$")
foreach(source ${sources})
  sonde_wasm_object(${CMAKE_SOURCE_DIR} ${source} ${ours})
endforeach()
set(sources jansson/src/dump.c jansson/src/error.c jansson/src/hashtable.c jansson/src/hashtable_seed.c jansson/src/load.c jansson/src/memory.c
    jansson/src/pack_unpack.c jansson/src/strbuffer.c jansson/src/strconv.c jansson/src/utf.c jansson/src/value.c
    zstd/lib/common/entropy_common.c zstd/lib/common/error_private.c zstd/lib/common/fse_decompress.c zstd/lib/common/xxhash.c
    zstd/lib/common/zstd_common.c zstd/lib/decompress/huf_decompress.c zstd/lib/decompress/zstd_ddict.c
    zstd/lib/decompress/zstd_decompress.c zstd/lib/decompress/zstd_decompress_block.c
    iberty/libiberty/cp-demangle.c iberty/libiberty/rust-demangle.c iberty/libiberty/safe-ctype.c)
foreach(source ${sources})
  sonde_wasm_object(${SONDE_WASM_SOURCES} ${source} ${theirs})
endforeach()

set(wasm ${SONDE_VIEWER_FILES}/sonde.wasm)
file(MAKE_DIRECTORY ${SONDE_VIEWER_FILES})
# The stack lies first, so that one that is too deep is an error and not somebody else's memory.
add_custom_command(OUTPUT ${wasm} ${wasm}.gz
  COMMAND ${SONDE_WASM_LD} -o ${wasm} --entry=_initialize --gc-sections --strip-all --stack-first -z stack-size=8388608 --wrap=fstat --wrap=sbrk
          --export=sonde_wasm_reserve --export=sonde_wasm_open --export=sonde_wasm_ask --export=sonde_wasm_type --export=sonde_wasm_bytes
          --export=sonde_wasm_size ${SONDE_WASI_LIBC}/crt1-reactor.o ${objects} -L${SONDE_WASI_LIBC} -lc ${SONDE_WASM_BUILTINS}
  COMMAND gzip -9 -n -k -f ${wasm}
  DEPENDS ${objects} VERBATIM)
add_custom_target(sonde-wasm ALL DEPENDS ${wasm} ${wasm}.gz)

# The licences ask to travel with the code.
set(licences "")
foreach(file jansson/LICENSE zstd/LICENSE iberty/libiberty/COPYING.LIB)
  file(READ ${SONDE_WASM_SOURCES}/${file} text)
  string(APPEND licences "${file}\n\n${text}\n\n")
endforeach()
file(CONFIGURE OUTPUT ${wasm}.LICENSES.txt CONTENT "@licences@" @ONLY)
install(FILES ${wasm} ${wasm}.gz ${wasm}.LICENSES.txt DESTINATION share/sonde/viewer)
