# SPDX-License-Identifier: Apache-2.0
# Recordings that are followed while they grow.
if(TARGET kymo_synth AND TARGET kymo_follow AND TARGET kymo)
  kymo_unit_test(follow ${CMAKE_CURRENT_SOURCE_DIR}/unit/follow_test.c LIBS kymo_synth kymo_follow)
  target_include_directories(test_follow PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(test_follow PRIVATE KYMO_PROGRAM="$<TARGET_FILE:kymo>")
endif()
