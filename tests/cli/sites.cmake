# SPDX-License-Identifier: Apache-2.0
# The summary by call site, stack, library, and grid, against a program whose lines are known.
if(TARGET kymo AND TARGET ocl_two AND KYMO_HAVE_SQLITE)
	find_package(OpenCL REQUIRED)
	add_library(sites_library SHARED ${CMAKE_CURRENT_LIST_DIR}/sites_library.c)
	set_target_properties(sites_library PROPERTIES OUTPUT_NAME cublasPlanted)
	target_link_libraries(sites_library PRIVATE OpenCL::OpenCL)
	add_executable(sites_program ${CMAKE_CURRENT_LIST_DIR}/sites_program.c)
	target_link_libraries(sites_program PRIVATE sites_library OpenCL::OpenCL)
	add_test(NAME cli.sites COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/sites.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:sites_program> ${CMAKE_CURRENT_LIST_DIR}/sites_program.c)
	set_tests_properties(cli.sites PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
