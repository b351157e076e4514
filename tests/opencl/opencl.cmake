# SPDX-License-Identifier: Apache-2.0
# All extension functions of OpenCL through the real loader, on a fake driver that is generated
# from the installed headers; see test_extensions.py.
if(NOT TARGET kymo OR NOT KYMO_HAVE_SQLITE)
  return()
endif()
find_package(OpenCL REQUIRED)
set(here ${CMAKE_CURRENT_LIST_DIR})
set(fake ${here}/../support/fakeocl)
set(out ${CMAKE_BINARY_DIR}/tests/opencl)
set(made ${out}/functions.c ${out}/calls.c)
add_custom_command(OUTPUT ${made}
  COMMAND Python3::Interpreter -B ${here}/gen_functions.py ${OPENCL_HEADERS}
          ${PROJECT_SOURCE_DIR}/api/opencl ${CMAKE_C_COMPILER} ${out}
  DEPENDS ${here}/gen_functions.py ${PROJECT_SOURCE_DIR}/tools/gen/extract_opencl.py
          ${PROJECT_SOURCE_DIR}/api/opencl/facts.json
  VERBATIM)

add_library(opencl_driver MODULE ${here}/driver.c ${out}/functions.c ${fake}/fakeocl.c
  ${fake}/extensions.c)
add_executable(opencl_probe ${here}/probe.c ${out}/calls.c)
target_link_libraries(opencl_probe PRIVATE OpenCL::OpenCL)
foreach(target opencl_driver opencl_probe)
  target_include_directories(${target} PRIVATE ${here} ${fake} ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${target} SYSTEM PRIVATE ${OPENCL_HEADERS})
  target_compile_options(${target} PRIVATE -Wno-unused-parameter -Wno-deprecated-declarations)
endforeach()

add_test(NAME opencl.extensions COMMAND Python3::Interpreter -B ${here}/test_extensions.py
  $<TARGET_FILE:kymo> $<TARGET_FILE:opencl_probe> $<TARGET_FILE:opencl_driver> ${out}/arguments.json)
set_tests_properties(opencl.extensions PROPERTIES LABELS opencl TIMEOUT 120)
if(KYMO_SANITIZE MATCHES address) # what the program was given by the fake stays its own
	set_tests_properties(opencl.extensions PROPERTIES ENVIRONMENT
		"ASAN_OPTIONS=verify_asan_link_order=0:disable_coredump=0:detect_leaks=0")
endif()
