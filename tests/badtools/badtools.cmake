# SPDX-License-Identifier: Apache-2.0
# Tools that misbehave; each case runs in a process of its own.
set(bad ${CMAKE_CURRENT_LIST_DIR})
set(bad_out ${CMAKE_BINARY_DIR}/tests/badtools)
add_executable(badtools ${bad}/badtools.c ${bad}/cases.c ${bad}/handles.c)
set_target_properties(badtools PROPERTIES ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY ${bad_out})
target_link_libraries(badtools PRIVATE kymo_core Threads::Threads ${CMAKE_DL_LIBS})
add_library(unloader MODULE ${bad}/unloader.c)
set_target_properties(unloader PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${bad_out})

# What throws is C++; the program and Kymo are not. The module is only ever loaded.
find_program(KYMO_TEST_CXX NAMES c++ g++ clang++)
if(KYMO_TEST_CXX)
  add_custom_command(OUTPUT ${bad_out}/thrower.so
    COMMAND ${KYMO_TEST_CXX} -std=c++17 -O1 -fPIC -shared -o ${bad_out}/thrower.so ${bad}/thrower.cpp
    DEPENDS ${bad}/thrower.cpp)
  add_custom_target(thrower ALL DEPENDS ${bad_out}/thrower.so)
endif()

add_test(NAME badtools COMMAND badtools ${bad_out})
# Not a unit test: the thread sanitizer does not know that a child's locks are wiped.
set_tests_properties(badtools PROPERTIES LABELS badtools TIMEOUT 120)
