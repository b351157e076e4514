# SPDX-License-Identifier: Apache-2.0
# Definitions that records refer to, when all threads are killed at once.
if(TARGET kymo AND TARGET kymo-inject AND NOT KYMO_SANITIZE)
  add_executable(harm_names ${CMAKE_CURRENT_LIST_DIR}/names.c)
  target_include_directories(harm_names PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(harm_names PRIVATE Threads::Threads)
  add_test(NAME harm.names COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/names.py $<TARGET_FILE:kymo>
    $<TARGET_FILE:harm_names>)
  set_tests_properties(harm.names PROPERTIES LABELS harm TIMEOUT 900)
endif()
# The same, step by step.
if(TARGET kymo AND TARGET kymo-inject AND TARGET ocl_many AND NOT KYMO_SANITIZE)
  add_executable(harm_meet ${CMAKE_CURRENT_LIST_DIR}/meet.c ${PROJECT_SOURCE_DIR}/tests/support/between.c)
  target_include_directories(harm_meet PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests/support)
  target_link_libraries(harm_meet PRIVATE Threads::Threads OpenCL::OpenCL ${CMAKE_DL_LIBS})
  set_target_properties(harm_meet PROPERTIES ENABLE_EXPORTS ON)
  add_test(NAME harm.meet COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/meet.py $<TARGET_FILE:kymo>
    $<TARGET_FILE:harm_meet>)
  set_tests_properties(harm.meet PROPERTIES LABELS harm SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
