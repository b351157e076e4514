# SPDX-License-Identifier: Apache-2.0
# How other projects find Kymo: pkg-config file "kymo", CMake package "kymo" with target kymo::kymo.
include(CMakePackageConfigHelpers)

file(RELATIVE_PATH KYMO_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/kymo.pc.in kymo.pc @ONLY)
configure_package_config_file(cmake/kymo-config.cmake.in kymo-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)
write_basic_package_version_file(kymo-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kymo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kymo-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/kymo-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)
install(EXPORT kymo-targets NAMESPACE kymo:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)
