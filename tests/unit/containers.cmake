# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(containers ${CMAKE_CURRENT_SOURCE_DIR}/unit/containers_test.c LIBS kymo_base)
target_link_options(test_containers PRIVATE -Wl,--wrap=realloc,--wrap=calloc)
kymo_unit_test(json ${CMAKE_CURRENT_SOURCE_DIR}/unit/json_test.c LIBS kymo_base)
# Both kinds of builds, whichever this is.
foreach(kind on off)
  kymo_unit_test(assert_${kind} ${CMAKE_CURRENT_SOURCE_DIR}/unit/assert_test.c LIBS kymo_wire kymo_base)
endforeach()
target_compile_options(test_assert_on PRIVATE -UKYMO_ASSERTS -DKYMO_ASSERTS)
target_compile_options(test_assert_off PRIVATE -UKYMO_ASSERTS)
