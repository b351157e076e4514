# SPDX-License-Identifier: Apache-2.0
# Other people's tools beside Kymo: layers, preloaded libraries, programs that profile themselves.
set(out ${CMAKE_BINARY_DIR}/tests/harm)
add_library(harm_interpose SHARED ${CMAKE_CURRENT_LIST_DIR}/interpose.c)
target_link_libraries(harm_interpose PRIVATE ${CMAKE_DL_LIBS})
target_compile_options(harm_interpose PRIVATE -Wno-missing-prototypes)
set_target_properties(harm_interpose PROPERTIES OUTPUT_NAME interpose NO_SONAME ON
  C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${out})

add_executable(harm_own_profiler ${CMAKE_CURRENT_LIST_DIR}/own_profiler.c)
target_include_directories(harm_own_profiler PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(harm_own_profiler PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(harm_own_profiler PROPERTIES OUTPUT_NAME own_profiler ENABLE_EXPORTS ON
  RUNTIME_OUTPUT_DIRECTORY ${out})

if(TARGET kymo AND TARGET kymo-inject)
  add_test(NAME harm.beside COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/beside.py
    ${CMAKE_BINARY_DIR})
  set_tests_properties(harm.beside PROPERTIES LABELS harm TIMEOUT 300)
  if(KYMO_SANITIZE) # its allocator and an interposed malloc exclude each other
    set_tests_properties(harm.beside PROPERTIES DISABLED TRUE)
  endif()
endif()
