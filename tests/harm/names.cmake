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
