# What `make install` and `make dist` put where. `sonde` finds its libraries
# relative to itself, so the tree can be moved.
#
# DT_RPATH, not DT_RUNPATH: it also serves the libraries' own dependencies.
set_target_properties(sonde PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/sonde/private")
target_link_options(sonde PRIVATE -Wl,--disable-new-dtags)
install(TARGETS sonde RUNTIME DESTINATION bin)
install(TARGETS sonde-library LIBRARY DESTINATION lib)
install(FILES ${CMAKE_BINARY_DIR}/sonde.pc DESTINATION lib/pkgconfig)
install(TARGETS sonde-agent sonde-preload LIBRARY DESTINATION lib/sonde)
if(SONDE_PATCHES)
  install(FILES ${SONDE_PATCHES} DESTINATION lib/sonde)
endif()
install(FILES include/sonde/sonde.h include/sonde/read.h include/sonde/backend.h include/sonde/error.h include/sonde/kinds.h
        DESTINATION include/sonde)
install(DIRECTORY python/sonde DESTINATION share/sonde/python FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN __pycache__ EXCLUDE)
install(FILES share/sonde-monitor@.service share/monitor.toml share/grafana.json DESTINATION share/sonde)
install(FILES LICENSE README.md DESTINATION share/doc/sonde)
install(DIRECTORY docs DESTINATION share/doc/sonde FILES_MATCHING PATTERN "*.md" PATTERN "*.json")

# Manual pages and completion, written by the command itself from its option
# tables. Not from a sanitizer's build, which cannot run in every place.
if(NOT SONDE_SANITIZE)
  set(share ${CMAKE_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${share}/stamp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${share}/man/man1 ${share}/bash-completion/completions
            ${share}/fish/vendor_completions.d ${share}/zsh/site-functions
    COMMAND sonde man --all ${share}/man/man1
    COMMAND sonde completion bash > ${share}/bash-completion/completions/sonde
    COMMAND sonde completion fish > ${share}/fish/vendor_completions.d/sonde.fish
    COMMAND sonde completion zsh > ${share}/zsh/site-functions/_sonde
    COMMAND ${CMAKE_COMMAND} -E touch ${share}/stamp
    DEPENDS sonde VERBATIM)
  add_custom_target(sonde-pages ALL DEPENDS ${share}/stamp)
  install(DIRECTORY ${share}/man ${share}/bash-completion ${share}/fish ${share}/zsh DESTINATION share)
endif()
