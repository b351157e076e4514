# SPDX-License-Identifier: Apache-2.0
# However a program's main thread leaves, the process ends as without Kymo.
if(TARGET kymo AND TARGET kymo-inject)
  add_executable(harm_ends ${CMAKE_CURRENT_LIST_DIR}/ends.c)
  target_include_directories(harm_ends PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(harm_ends PRIVATE _GNU_SOURCE)
  target_link_libraries(harm_ends PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  add_library(harm_ends_tool MODULE ${CMAKE_CURRENT_LIST_DIR}/ends_tool.c)
  target_link_libraries(harm_ends_tool PRIVATE libkymo)
  add_test(NAME harm.ends COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/ends.py
    $<TARGET_FILE:kymo> $<TARGET_FILE:harm_ends> $<TARGET_FILE:harm_ends_tool>)
  set_tests_properties(harm.ends PROPERTIES LABELS harm TIMEOUT 600)
  if(KYMO_SANITIZE MATCHES address) # who leaves while threads run leaks, without Kymo as well
    set_property(TEST harm.ends PROPERTY ENVIRONMENT LSAN_OPTIONS=detect_leaks=0)
  endif()
endif()
