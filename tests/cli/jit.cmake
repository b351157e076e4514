# SPDX-License-Identifier: Apache-2.0
# Names of generated code.
if(TARGET kymo AND TARGET kymo-inject AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
	add_executable(jit_program ${CMAKE_CURRENT_LIST_DIR}/jit_program.c)
	target_compile_options(jit_program PRIVATE -O2 -fno-optimize-sibling-calls $<$<NOT:$<CXX_COMPILER_ID:Clang>>:-fno-ipa-icf> -fno-lto)
	add_test(NAME cli.jit COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/jit.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:jit_program>)
	set_tests_properties(cli.jit PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
