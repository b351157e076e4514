# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo-synth AND TARGET kymo_format_store)
  add_test(NAME sql.queries
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_sql.py
                   $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
  set_tests_properties(sql.queries PROPERTIES LABELS sql TIMEOUT 120)
endif()
if(TARGET kymo-synth AND TARGET kymo-sqlite AND TARGET ocl_copies)
  add_test(NAME sql.store
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_store.py
                   $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:kymo-sqlite>
                   ${PROJECT_SOURCE_DIR}/docs/store.md $<TARGET_FILE:ocl_copies>)
  set_tests_properties(sql.store PROPERTIES LABELS sql TIMEOUT 300)
endif()
