# libsonde: measurements for other programs. Only what include/sonde/read.h declares is seen of it. Answers are given back by
# functions of it, whenever that is: once loaded it stays.
file(GLOB READ_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/read/*.c)
add_library(sonde-library SHARED ${READ_SOURCES})
set(map ${CMAKE_SOURCE_DIR}/src/read/read.map)
set_target_properties(sonde-library PROPERTIES OUTPUT_NAME sonde VERSION 1 SOVERSION 1 LINK_DEPENDS ${map}
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib INSTALL_RPATH "$ORIGIN/sonde/private")
target_include_directories(sonde-library PRIVATE include src)
target_link_libraries(sonde-library PRIVATE sonde-export sonde-views)
target_link_options(sonde-library PRIVATE -Wl,--version-script=${map} -Wl,--as-needed -Wl,--disable-new-dtags -Wl,-Bsymbolic -Wl,-z,nodelete)
configure_file(${CMAKE_SOURCE_DIR}/cmake/sonde.pc.in ${CMAKE_BINARY_DIR}/sonde.pc @ONLY)
