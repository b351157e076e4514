# SPDX-License-Identifier: Apache-2.0
if(NOT TARGET kymo_format_otf2 OR NOT TARGET kymo-synth OR NOT KYMO_HAVE_SQLITE)
  return()
endif()

add_executable(otf2_roles ${CMAKE_CURRENT_LIST_DIR}/roles.c)
target_link_libraries(otf2_roles PRIVATE kymo_format_otf2)
add_test(NAME otf2.roles COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_roles.py
         $<TARGET_FILE:otf2_roles> ${PROJECT_SOURCE_DIR})

if(TARGET heat AND TARGET ocl_copies)
  find_program(KYMO_CLANG_OPENMP NAMES clang-19 clang-18)
  add_test(NAME otf2.archives COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_otf2.py
           $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE_DIR:ocl_copies> ${PROJECT_BINARY_DIR}/tests/telemetry_fakes
           ${CMAKE_BINARY_DIR}/mpi-programs $<$<BOOL:${KYMO_CLANG_OPENMP}>:${KYMO_CLANG_OPENMP}>)
  set_tests_properties(otf2.archives PROPERTIES LABELS cli TIMEOUT 600 SKIP_RETURN_CODE 77)
  add_test(NAME otf2.read COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_read.py
           $<TARGET_FILE:kymo> $<TARGET_FILE_DIR:ocl_copies> ${CMAKE_BINARY_DIR}/mpi-programs)
  set_tests_properties(otf2.read PROPERTIES LABELS cli TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
