# SPDX-License-Identifier: Apache-2.0
# Device work of ROCm's runtimes, against a fake that does what it is asked; test_device.py.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(out ${CMAKE_BINARY_DIR}/tests/register)
set(places ${out}/gen/places.h)

file(MAKE_DIRECTORY ${out}/gen)
add_custom_command(OUTPUT ${places}
  COMMAND Python3::Interpreter -B ${here}/places.py ${places} ${PROJECT_SOURCE_DIR}/api/hip
          ${PROJECT_SOURCE_DIR}/api/hip_compiler ${PROJECT_SOURCE_DIR}/api/hsa
  DEPENDS ${here}/places.py ${PROJECT_SOURCE_DIR}/api/hip/functions.json
          ${PROJECT_SOURCE_DIR}/api/hip_compiler/functions.json
          ${PROJECT_SOURCE_DIR}/api/hsa/functions.json
  VERBATIM)

add_library(fake_device SHARED ${here}/fake_device.c ${places})
target_include_directories(fake_device PRIVATE ${out}/gen)
target_link_libraries(fake_device PRIVATE kymo-rocprofiler Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(fake_device PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME libamdhip64.so.7
  C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${out}/device NO_SONAME ON)

add_executable(probe_device ${here}/probe_device.c ${here}/check.c ${places})
target_include_directories(probe_device PRIVATE ${out}/gen)
# Entries are called by what they are given.
target_compile_options(probe_device PRIVATE -Wno-strict-prototypes)
target_link_libraries(probe_device PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(probe_device PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${out})

add_test(NAME rocm_device COMMAND Python3::Interpreter -B ${here}/test_device.py ${CMAKE_BINARY_DIR})
set_tests_properties(rocm_device PROPERTIES LABELS register TIMEOUT 120)
if(KYMO_SANITIZE) # dozens of programs, each of which is searched for leaks at its end
  set_tests_properties(rocm_device PROPERTIES TIMEOUT 600)
endif()
