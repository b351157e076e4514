# SPDX-License-Identifier: Apache-2.0
if(NOT TARGET kymo_format_perfetto)
  return()
endif()
kymo_unit_test(perfetto ${CMAKE_CURRENT_LIST_DIR}/perfetto/test_perfetto.c
               ${CMAKE_CURRENT_LIST_DIR}/perfetto/model.c LIBS kymo_format_perfetto)
if(NOT TARGET test_perfetto)
  return()
endif()

# A file of 60,000 records, read by a second decoder that shares nothing with the writer.
set(sample ${CMAKE_CURRENT_BINARY_DIR}/sample.pftrace)
add_test(NAME golden.perfetto.sample COMMAND test_perfetto ${sample})
add_test(NAME golden.perfetto.check COMMAND Python3::Interpreter -B
         ${PROJECT_SOURCE_DIR}/tests/golden/perfetto_check.py ${sample} --expect
         totals.slices=60005 totals.unfinished=1 totals.instants=6 totals.errors=2
         totals.flows=20003 totals.flows_backwards=0 totals.counter_points=40008)
set_tests_properties(golden.perfetto.sample PROPERTIES LABELS golden FIXTURES_SETUP perfetto)
set_tests_properties(golden.perfetto.check PROPERTIES LABELS golden FIXTURES_REQUIRED perfetto)
