# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo-synth AND TARGET kymo_format_store)
  add_test(NAME sql.queries
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_sql.py
                   $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
  set_tests_properties(sql.queries PROPERTIES LABELS sql TIMEOUT 120)
endif()
