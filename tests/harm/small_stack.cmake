# SPDX-License-Identifier: Apache-2.0
# Threads with stacks of 16 KiB may be the first to do something that is recorded.
if(TARGET kymo AND TARGET kymo-inject AND NOT KYMO_SANITIZE) # sanitizers need more stack
  add_executable(harm_small_stack ${CMAKE_CURRENT_LIST_DIR}/small_stack.c)
  target_include_directories(harm_small_stack PRIVATE ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(harm_small_stack PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  if(TARGET OpenCL::OpenCL)
    target_compile_definitions(harm_small_stack PRIVATE HAVE_OPENCL CL_TARGET_OPENCL_VERSION=300)
    target_link_libraries(harm_small_stack PRIVATE OpenCL::OpenCL)
  endif()
  add_test(NAME harm.small_stack COMMAND ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_LIST_DIR}/small_stack.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-inject>
    $<TARGET_FILE:harm_small_stack>)
  set_tests_properties(harm.small_stack PROPERTIES LABELS harm TIMEOUT 900)
endif()
