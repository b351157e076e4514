# SPDX-License-Identifier: Apache-2.0
# How other projects find Kymo:
#   pkg-config   CMake (find_package(kymo))   what
#   kymo         kymo::kymo                   the tools interface
#   kymo-marker  kymo::marker                 annotations: a header; variables fortrandir, pythondir
#   kymo-register kymo::register              runtimes that want to be seen by tools
# All of it works from wherever the tree is moved to.
include(CMakePackageConfigHelpers)

add_library(kymo-marker INTERFACE)
set_target_properties(kymo-marker PROPERTIES EXPORT_NAME marker)
target_include_directories(kymo-marker INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS kymo-marker EXPORT kymo-targets)

file(RELATIVE_PATH KYMO_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(name kymo kymo-marker kymo-register)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

configure_package_config_file(cmake/kymo-config.cmake.in kymo-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)
write_basic_package_version_file(kymo-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kymo-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/kymo-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)
install(EXPORT kymo-targets NAMESPACE kymo:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)

# <kymo/args/opencl.h>: arguments as callbacks get them
install(FILES ${CMAKE_BINARY_DIR}/src/capture/opencl/gen/opencl_args.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kymo/args RENAME opencl.h)

# Annotations of other languages are compiled or imported from source: no compiler's module format
# and no interpreter's version is bound to an installation.
install(DIRECTORY fortran DESTINATION ${CMAKE_INSTALL_DATADIR}/kymo)
install(DIRECTORY python DESTINATION ${CMAKE_INSTALL_DATADIR}/kymo
        PATTERN __pycache__ EXCLUDE PATTERN "*.egg-info" EXCLUDE PATTERN build EXCLUDE)
install(DIRECTORY examples/tools examples/handlers DESTINATION ${CMAKE_INSTALL_DATADIR}/kymo/examples)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
