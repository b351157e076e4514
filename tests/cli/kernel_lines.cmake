# SPDX-License-Identifier: Apache-2.0
# Samples of threads in kernels that PoCL runs on the processor, by lines of their source.
if(TARGET kymo AND TARGET ocl_two AND KYMO_HAVE_SQLITE AND KYMO_HAVE_DW AND NOT KYMO_SANITIZE)
	find_package(OpenCL REQUIRED)
	add_executable(kernel_lines_program ${CMAKE_CURRENT_LIST_DIR}/kernel_lines_program.c)
	target_compile_options(kernel_lines_program PRIVATE -Wno-deprecated-declarations)
	target_link_libraries(kernel_lines_program PRIVATE OpenCL::OpenCL)
	add_test(NAME cli.kernel_lines COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/kernel_lines.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kernel_lines_program>)
	set_tests_properties(cli.kernel_lines PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
