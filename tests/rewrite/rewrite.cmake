# SPDX-License-Identifier: Apache-2.0
# OpenCL programs that kymo rewrite makes count what they do, run on the devices here.
if(NOT TARGET kymo OR KYMO_SANITIZE) # libclang's memory is not freed, and drivers have leaks of their own
	return()
endif()
find_package(OpenCL REQUIRED)
add_executable(rewrite_launch ${CMAKE_CURRENT_LIST_DIR}/launch.c)
target_compile_definitions(rewrite_launch PRIVATE CL_TARGET_OPENCL_VERSION=120)
target_link_libraries(rewrite_launch PRIVATE OpenCL::OpenCL)
foreach(name Closed Own Made Accesses Forms)
	string(TOLOWER ${name} test)
	add_test(NAME rewrite.${test} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_rewrite.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:rewrite_launch> ${name})
	set_tests_properties(rewrite.${test} PROPERTIES LABELS opencl TIMEOUT 120 SKIP_RETURN_CODE 77)
endforeach()
