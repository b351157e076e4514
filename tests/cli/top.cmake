# SPDX-License-Identifier: Apache-2.0
# kymo top: the numbers of programs that are known, and what a terminal shows of them.
if(TARGET kymo AND TARGET ocl_two AND KYMO_HAVE_SQLITE)
	add_executable(top_program ${CMAKE_CURRENT_LIST_DIR}/top_program.c)
	target_compile_definitions(top_program PRIVATE CL_TARGET_OPENCL_VERSION=300 CL_USE_DEPRECATED_OPENCL_1_2_APIS)
	target_link_libraries(top_program PRIVATE OpenCL::OpenCL Threads::Threads)
	foreach(part top top_screen)
		add_test(NAME cli.${part} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/${part}.py
			$<TARGET_FILE:kymo> $<TARGET_FILE:top_program>)
		set_tests_properties(cli.${part} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
	endforeach()
	set_tests_properties(cli.top PROPERTIES RUN_SERIAL TRUE) # it counts all recordings that there are
endif()
