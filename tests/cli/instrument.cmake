# SPDX-License-Identifier: Apache-2.0
# Kernels of OpenCL that are instrumented, and what `kymo kernels` makes of them.
if(TARGET kymo AND TARGET ocl_lines AND TARGET kymo_metrics AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	add_library(small_groups MODULE ${CMAKE_CURRENT_SOURCE_DIR}/opencl/small_groups.c)
	target_compile_definitions(small_groups PRIVATE CL_TARGET_OPENCL_VERSION=300)
	target_link_libraries(small_groups PRIVATE OpenCL::OpenCL)
	add_test(NAME cli.instrument COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/instrument.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_lines> $<TARGET_FILE:ocl_replay> $<TARGET_FILE:ocl_two> $<TARGET_FILE:ocl_once> $<TARGET_FILE:small_groups>)
	set_tests_properties(cli.instrument PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
