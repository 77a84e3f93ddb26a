# The export formats. The messages of Perfetto and pprof come from our own minimal .proto files
# by protoc-c; what it generates is not ours, so it is compiled without our warnings.
find_program(PROTOC_C protoc-c REQUIRED)
set(proto_dir ${CMAKE_BINARY_DIR}/generated/export)
file(MAKE_DIRECTORY ${proto_dir})
set(messages "")
foreach(proto perfetto pprof)
  add_custom_command(
    OUTPUT ${proto_dir}/${proto}.pb-c.c ${proto_dir}/${proto}.pb-c.h
    COMMAND ${PROTOC_C} --c_out=${proto_dir} --proto_path=${CMAKE_SOURCE_DIR}/src/export ${proto}.proto
    DEPENDS ${CMAKE_SOURCE_DIR}/src/export/${proto}.proto)
  list(APPEND messages ${proto_dir}/${proto}.pb-c.c ${proto_dir}/${proto}.pb-c.h)
endforeach()
add_library(sonde-export-messages STATIC ${messages})
target_compile_options(sonde-export-messages PRIVATE -w -Wno-error -Wno-pedantic)
target_include_directories(sonde-export-messages SYSTEM PUBLIC ${proto_dir})
target_link_libraries(sonde-export-messages PUBLIC PkgConfig::PROTOBUFC)

file(GLOB EXPORT_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/export/*.c)
add_library(sonde-export STATIC ${EXPORT_SOURCES})
target_include_directories(sonde-export PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(sonde-export PUBLIC sonde-analyze sonde-format PRIVATE sonde-export-messages PkgConfig::ZLIB PkgConfig::SQLITE PkgConfig::OTF2)
