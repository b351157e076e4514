# SPDX-License-Identifier: Apache-2.0
# Children of fork() where memory is wiped for them, and where it is not.
if(TARGET kymo AND TARGET kymo-inject AND NOT KYMO_SANITIZE)
  add_executable(harm_forks ${CMAKE_CURRENT_LIST_DIR}/forks.c)
  target_include_directories(harm_forks PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(harm_forks PRIVATE ${CMAKE_DL_LIBS})
  add_library(harm_no_wipe MODULE ${CMAKE_CURRENT_LIST_DIR}/no_wipe.c)
  set_target_properties(harm_no_wipe PROPERTIES C_VISIBILITY_PRESET default)
  add_test(NAME harm.forks COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/forks.py
    $<TARGET_FILE:kymo> $<TARGET_FILE:harm_forks> $<TARGET_FILE:harm_no_wipe>)
  set_tests_properties(harm.forks PROPERTIES LABELS harm TIMEOUT 300)
endif()
