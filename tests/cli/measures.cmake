# SPDX-License-Identifier: Apache-2.0
# Counters and samples of whole programs; sanitizers cannot be preloaded into them.
if(TARGET kymo AND TARGET spend AND KYMO_HAVE_SQLITE AND KYMO_HAVE_DW AND NOT KYMO_SANITIZE)
	set(heat)
	if(TARGET heat)
		set(heat $<TARGET_FILE:heat>)
	endif()
	add_test(NAME cli.measures COMMAND ${Python3_EXECUTABLE} -B
		${PROJECT_SOURCE_DIR}/tests/cli/test_measures.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:spend> ${heat})
	if(heat)
		add_test(NAME cli.formulas COMMAND ${Python3_EXECUTABLE} -B
			${PROJECT_SOURCE_DIR}/tests/cli/test_formulas.py $<TARGET_FILE:kymo> ${heat})
		set_tests_properties(cli.formulas PROPERTIES LABELS cli TIMEOUT 120)
	endif()
	set_tests_properties(cli.measures PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
	if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
		add_executable(stacks_program ${CMAKE_CURRENT_LIST_DIR}/stacks_program.c)
		target_compile_options(stacks_program PRIVATE -O2 -fomit-frame-pointer -fno-lto)
		target_link_libraries(stacks_program PRIVATE Threads::Threads)
		add_test(NAME cli.stacks COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/stacks.py $<TARGET_FILE:kymo>
			$<TARGET_FILE:stacks_program>)
		set_tests_properties(cli.stacks PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
	endif()
	add_executable(sampling_program ${CMAKE_CURRENT_LIST_DIR}/sampling_program.c)
	target_compile_options(sampling_program PRIVATE -fno-omit-frame-pointer -fno-optimize-sibling-calls)
	target_link_libraries(sampling_program PRIVATE Threads::Threads)
	add_test(NAME cli.sampling COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/sampling.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:sampling_program>)
	add_executable(off_cpu_program ${CMAKE_CURRENT_LIST_DIR}/off_cpu_program.c)
	target_link_libraries(off_cpu_program PRIVATE Threads::Threads)
	add_test(NAME cli.off_cpu COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/off_cpu.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:off_cpu_program> $<TARGET_FILE:sampling_program>)
	set_tests_properties(cli.off_cpu PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
	set_tests_properties(cli.sampling PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
