# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(columns ${CMAKE_CURRENT_SOURCE_DIR}/unit/columns_test.c LIBS kymo_wire kymo_base)
if(KYMO_HAVE_ZSTD)
  kymo_unit_test(compress ${CMAKE_CURRENT_SOURCE_DIR}/unit/compress_test.c
                 LIBS kymo_drain kymo_wire kymo_base PkgConfig::XXHASH PkgConfig::ZSTD)
  set_tests_properties(unit.compress PROPERTIES TIMEOUT 600) # idle threads on a busy machine
  target_link_options(test_compress PRIVATE -Wl,--wrap=openat,--wrap=renameat2)
endif()
