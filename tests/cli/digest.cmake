# SPDX-License-Identifier: Apache-2.0
# What a summary begins with: its numbers against SQL over the same trace, its sentence on runs that one
# thing bounds beyond doubt.
if(TARGET kymo AND TARGET kymo-inject AND TARGET ocl_two)
	add_executable(digest_program ${CMAKE_CURRENT_LIST_DIR}/digest_program.c)
	target_link_libraries(digest_program PRIVATE OpenCL::OpenCL)
	foreach(part numbers sentence findings lines)
		add_test(NAME cli.digest.${part} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/digest.py
			${part} $<TARGET_FILE:kymo> $<TARGET_FILE:ocl_two> $<TARGET_FILE:digest_program> $<TARGET_FILE:heat>)
		set_tests_properties(cli.digest.${part} PROPERTIES LABELS cli TIMEOUT 300 SKIP_RETURN_CODE 77)
	endforeach()
endif()
