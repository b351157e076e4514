# SPDX-License-Identifier: Apache-2.0
# kymo_synth: synthetic raw files for tests; kymo-synth: the same for scripts.
if(KYMO_HAVE_ZSTD)
  add_library(kymo_synth STATIC support/synth.c support/synth_traces.c support/synth_timed.c
              support/synth_growth.c)
  target_include_directories(kymo_synth PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(kymo_synth PUBLIC kymo_record kymo_wire PkgConfig::ZSTD PkgConfig::XXHASH)
  add_executable(kymo-synth support/synth_main.c)
  target_link_libraries(kymo-synth PRIVATE kymo_synth)
endif()
add_executable(raw_copy support/raw_copy.c)
target_link_libraries(raw_copy PRIVATE kymo_formats)
# A record of each op of each kind.

add_executable(every_kind support/every_kind.c)
target_link_libraries(every_kind PRIVATE kymo_formats)
