# SPDX-License-Identifier: Apache-2.0
# The OpenCL backend against a fake runtime; see tests/support/fakeocl.
if(TARGET kymo_capture_opencl)
  foreach(test opencl command_buffers)
    kymo_unit_test(${test} ${CMAKE_CURRENT_LIST_DIR}/opencl/test_${test}.c
      ${CMAKE_CURRENT_LIST_DIR}/opencl/fixture.c
      ${CMAKE_CURRENT_LIST_DIR}/../support/fakeocl/fakeocl.c
      ${CMAKE_CURRENT_LIST_DIR}/../support/fakeocl/extensions.c LIBS kymo_capture_opencl)
  endforeach()
  kymo_unit_test(opencl_objects ${CMAKE_CURRENT_LIST_DIR}/opencl/test_objects.c
    LIBS kymo_capture_opencl)
  kymo_unit_test(rewritten ${CMAKE_CURRENT_LIST_DIR}/opencl/test_rewritten.c
    LIBS kymo_capture_opencl)
  foreach(test opencl command_buffers opencl_objects)
    if(TARGET test_${test})
      target_include_directories(test_${test} PRIVATE
        ${CMAKE_CURRENT_LIST_DIR}/../support/fakeocl)
      target_compile_options(test_${test} PRIVATE -Wno-deprecated-declarations)
    endif()
  endforeach()
endif()
