# SPDX-License-Identifier: Apache-2.0
# Libraries that are at work before Kymo's constructors have run.
if(TARGET kymo AND TARGET kymo-inject)
  add_library(harm_early_lib SHARED ${CMAKE_CURRENT_LIST_DIR}/early_lib.c)
  target_include_directories(harm_early_lib PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(harm_early_lib PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(harm_early_lib PROPERTIES C_VISIBILITY_PRESET default)
  set(have_opencl 0)
  if(TARGET OpenCL::OpenCL)
    target_compile_definitions(harm_early_lib PRIVATE HAVE_OPENCL CL_TARGET_OPENCL_VERSION=300
      CL_USE_DEPRECATED_OPENCL_1_2_APIS)
    target_link_libraries(harm_early_lib PRIVATE OpenCL::OpenCL)
    set(have_opencl 1)
  endif()
  add_executable(harm_early ${CMAKE_CURRENT_LIST_DIR}/early.c)
  target_link_libraries(harm_early PRIVATE harm_early_lib)
  add_test(NAME harm.early COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/early.py
    $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-inject> $<TARGET_FILE:harm_early> ${have_opencl})
  set_tests_properties(harm.early PROPERTIES LABELS harm TIMEOUT 600)
endif()
