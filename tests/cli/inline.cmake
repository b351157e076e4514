# SPDX-License-Identifier: Apache-2.0
# Frames of functions that were inlined, beside addr2line's.
find_program(ADDR2LINE addr2line)
if(TARGET kymo AND TARGET kymo-inject AND KYMO_HAVE_SQLITE AND KYMO_HAVE_DW AND ADDR2LINE AND NOT KYMO_SANITIZE
   AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
	add_library(inline_library SHARED ${CMAKE_CURRENT_LIST_DIR}/inline_library.cc)
	add_executable(inline_program ${CMAKE_CURRENT_LIST_DIR}/inline_program.c)
	foreach(target inline_library inline_program)
		target_compile_options(${target} PRIVATE -O2 -g -fno-lto)
	endforeach()
	target_link_libraries(inline_program PRIVATE inline_library)
	add_test(NAME cli.inline COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/inline.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:inline_program> ${ADDR2LINE} ${PROJECT_SOURCE_DIR}/src/formats/pprof/profile.proto)
	set_tests_properties(cli.inline PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
