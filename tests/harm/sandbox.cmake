# SPDX-License-Identifier: Apache-2.0
# Processes that give up what it takes to reach the drain before their first recorded call.
if(TARGET kymo AND TARGET kymo-inject AND NOT KYMO_SANITIZE)
  add_executable(harm_sandboxed ${CMAKE_CURRENT_LIST_DIR}/sandboxed.c)
  target_include_directories(harm_sandboxed PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(harm_sandboxed PRIVATE ${CMAKE_DL_LIBS})
  add_library(harm_fail_alloc MODULE ${CMAKE_CURRENT_LIST_DIR}/fail_alloc.c)
  set_target_properties(harm_fail_alloc PROPERTIES C_VISIBILITY_PRESET default)
  target_compile_options(harm_fail_alloc PRIVATE -fno-builtin -Wno-missing-prototypes)
  add_test(NAME harm.sandbox COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/sandbox.py
    $<TARGET_FILE:kymo> $<TARGET_FILE:harm_sandboxed> $<TARGET_FILE:harm_fail_alloc>)
  set_tests_properties(harm.sandbox PROPERTIES LABELS harm TIMEOUT 600)
  add_test(NAME harm.late COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/late.py
    $<TARGET_FILE:kymo> $<TARGET_FILE:harm_sandboxed>)
  set_tests_properties(harm.late PROPERTIES LABELS harm TIMEOUT 600)
  add_test(NAME harm.unreached COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/unreached.py
    $<TARGET_FILE:kymo> $<TARGET_FILE:harm_sandboxed>)
  set_tests_properties(harm.unreached PROPERTIES LABELS harm TIMEOUT 900)
endif()
