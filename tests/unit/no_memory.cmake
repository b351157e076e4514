# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(no_memory ${CMAKE_CURRENT_LIST_DIR}/no_memory_test.c
  ${CMAKE_CURRENT_LIST_DIR}/tool_support.c LIBS kymo_core)
target_link_options(test_no_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=free)
