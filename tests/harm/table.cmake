# SPDX-License-Identifier: Apache-2.0
# What `make harm` runs: all there is about harm, as a table. Here only that it finds harm that is done.
if(TARGET kymo AND TARGET kymo-inject AND NOT KYMO_SANITIZE)
  add_executable(harm_shapes ${CMAKE_CURRENT_LIST_DIR}/shapes.c)
  target_include_directories(harm_shapes PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(harm_shapes PRIVATE _GNU_SOURCE)
  target_link_libraries(harm_shapes PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(harm_shapes PROPERTIES OUTPUT_NAME shapes
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/harm)
  add_test(NAME harm.table COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_table.py ${CMAKE_BINARY_DIR})
  set_tests_properties(harm.table PROPERTIES LABELS harm TIMEOUT 900)
endif()
