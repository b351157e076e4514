# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(ptx ${CMAKE_CURRENT_SOURCE_DIR}/unit/ptx_test.c LIBS kymo_ptx)
target_compile_definitions(test_ptx PRIVATE PTX_SAMPLES="${CMAKE_CURRENT_SOURCE_DIR}/fuzz/ptx")
