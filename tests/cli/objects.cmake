# SPDX-License-Identifier: Apache-2.0
# Objects that were never released, by line.
if(TARGET kymo AND TARGET kymo-inject AND TARGET ocl_two)
	add_executable(objects_program ${CMAKE_CURRENT_LIST_DIR}/objects_program.c)
	target_compile_options(objects_program PRIVATE -g -Wno-deprecated-declarations)
	target_link_libraries(objects_program PRIVATE OpenCL::OpenCL)
	add_test(NAME cli.objects COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/objects.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:objects_program>)
	set_tests_properties(cli.objects PROPERTIES LABELS cli TIMEOUT 120)
endif()
