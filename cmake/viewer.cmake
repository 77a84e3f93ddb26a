# The viewer's page (viewer/): build/share/sonde/viewer/, by Node and npm's packages in the build tree (tools/page.sh). Where
# neither can be had the page is left out, and everything else is built. Defines the target sonde-page.
option(SONDE_VIEWER "Build the viewer's page" ON)
if(NOT SONDE_VIEWER OR SONDE_SANITIZE)
  return()
endif()
set(SONDE_PAGE_PLACE ${CMAKE_BINARY_DIR}/viewer)      # sources, packages and Node
set(SONDE_PAGE ${CMAKE_BINARY_DIR}/share/sonde/viewer) # what is made of them
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS viewer/package-lock.json tools/node.sh tools/page.sh)
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/page.sh --packages ${SONDE_PAGE_PLACE} RESULT_VARIABLE status ERROR_VARIABLE why
                ERROR_STRIP_TRAILING_WHITESPACE)
if(status)
  message(STATUS "The viewer's page is left out: ${why}")
  return()
endif()
file(GLOB_RECURSE PAGE_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/viewer/src/* ${CMAKE_SOURCE_DIR}/viewer/tests/*)
file(GLOB PAGE_SETTINGS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/viewer/*.ts ${CMAKE_SOURCE_DIR}/viewer/*.json ${CMAKE_SOURCE_DIR}/viewer/*.html)
add_custom_command(OUTPUT ${SONDE_PAGE_PLACE}/built
  COMMAND ${CMAKE_SOURCE_DIR}/tools/page.sh --build ${SONDE_PAGE_PLACE} ${SONDE_PAGE}
  COMMAND ${CMAKE_COMMAND} -E touch ${SONDE_PAGE_PLACE}/built
  DEPENDS ${PAGE_SOURCES} ${PAGE_SETTINGS} ${CMAKE_SOURCE_DIR}/tools/page.sh ${SONDE_PAGE_PLACE}/made-from
  COMMENT "The viewer's page" VERBATIM)
add_custom_target(sonde-page ALL DEPENDS ${SONDE_PAGE_PLACE}/built)
install(DIRECTORY ${SONDE_PAGE} DESTINATION share/sonde OPTIONAL)
