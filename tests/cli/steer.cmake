# SPDX-License-Identifier: Apache-2.0
# Steering a recording from outside.
if(TARGET kymo AND KYMO_HAVE_SQLITE AND TARGET ocl_many)
	add_executable(steer_program ${CMAKE_CURRENT_LIST_DIR}/steer_program.c)
	target_include_directories(steer_program PRIVATE ${PROJECT_SOURCE_DIR}/include)
	target_compile_definitions(steer_program PRIVATE CL_TARGET_OPENCL_VERSION=300)
	target_link_libraries(steer_program PRIVATE OpenCL::OpenCL)
	add_test(NAME cli.steer COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/steer.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:steer_program>)
	set_tests_properties(cli.steer PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
