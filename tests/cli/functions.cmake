# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET kymo_functions)
	enable_language(CXX)
	add_executable(functions_program ${CMAKE_CURRENT_LIST_DIR}/functions_program.cc)
	target_compile_options(functions_program PRIVATE -O2 -fno-lto $<$<NOT:$<CXX_COMPILER_ID:Clang>>:-fno-ipa-icf>)
	add_executable(functions_program_stripped ${CMAKE_CURRENT_LIST_DIR}/functions_program.cc)
	target_compile_options(functions_program_stripped PRIVATE -O2 -fno-lto $<$<NOT:$<CXX_COMPILER_ID:Clang>>:-fno-ipa-icf>)
	target_link_options(functions_program_stripped PRIVATE -s)
	add_test(NAME cli.functions COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/functions.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:functions_program> $<TARGET_FILE:functions_program_stripped>)
	set_tests_properties(cli.functions PROPERTIES LABELS cli TIMEOUT 120)
endif()
