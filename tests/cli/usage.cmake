# SPDX-License-Identifier: Apache-2.0
# What processes and threads used of processors and memory, against what the kernel told their parent.
if(TARGET kymo AND TARGET kymo-inject)
	find_package(Threads REQUIRED)
	add_executable(usage_program ${CMAKE_CURRENT_LIST_DIR}/usage_program.c)
	target_include_directories(usage_program PRIVATE ${PROJECT_SOURCE_DIR}/include)
	target_link_libraries(usage_program PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
	add_test(NAME cli.usage COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/usage.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:usage_program>)
	set_tests_properties(cli.usage PROPERTIES LABELS cli TIMEOUT 300)
	if(KYMO_SANITIZE) # they have other memory
		set_tests_properties(cli.usage PROPERTIES DISABLED TRUE)
	endif()
endif()
