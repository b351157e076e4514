# SPDX-License-Identifier: Apache-2.0
if(KYMO_HAVE_ZSTD)
  kymo_unit_test(drain ${CMAKE_CURRENT_SOURCE_DIR}/unit/drain_test.c
                 ${CMAKE_CURRENT_SOURCE_DIR}/unit/drain_support.c
                 ${CMAKE_CURRENT_SOURCE_DIR}/support/synth_producer.c
                 LIBS kymo_drain kymo_wire kymo_base PkgConfig::XXHASH PkgConfig::ZSTD)
  target_include_directories(test_drain PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endif()

kymo_unit_test(definitions ${CMAKE_CURRENT_SOURCE_DIR}/unit/definitions_test.c
               ${CMAKE_CURRENT_SOURCE_DIR}/support/synth_producer.c
               LIBS kymo_drain kymo_wire kymo_base)
target_include_directories(test_definitions PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})

kymo_unit_test(batch ${CMAKE_CURRENT_SOURCE_DIR}/unit/batch_test.c
               ${CMAKE_CURRENT_SOURCE_DIR}/support/synth_producer.c
               LIBS kymo_drain kymo_wire kymo_base PkgConfig::XXHASH)
target_include_directories(test_batch PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
