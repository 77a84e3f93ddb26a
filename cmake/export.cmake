# The export formats. Perfetto's messages come from our own minimal .proto by
# protoc-c; what it generates is not ours, so it is compiled without our warnings.
find_program(PROTOC_C protoc-c REQUIRED)
set(proto_dir ${CMAKE_BINARY_DIR}/generated/export)
file(MAKE_DIRECTORY ${proto_dir})
add_custom_command(
  OUTPUT ${proto_dir}/perfetto.pb-c.c ${proto_dir}/perfetto.pb-c.h
  COMMAND ${PROTOC_C} --c_out=${proto_dir} --proto_path=${CMAKE_SOURCE_DIR}/src/export perfetto.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/src/export/perfetto.proto)
add_library(sonde-perfetto-messages STATIC ${proto_dir}/perfetto.pb-c.c ${proto_dir}/perfetto.pb-c.h)
target_compile_options(sonde-perfetto-messages PRIVATE -w -Wno-error -Wno-pedantic)
target_include_directories(sonde-perfetto-messages SYSTEM PUBLIC ${proto_dir})
target_link_libraries(sonde-perfetto-messages PUBLIC PkgConfig::PROTOBUFC)

file(GLOB EXPORT_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/export/*.c)
add_library(sonde-export STATIC ${EXPORT_SOURCES})
target_include_directories(sonde-export PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(sonde-export PUBLIC sonde-analyze sonde-format PRIVATE sonde-perfetto-messages)
