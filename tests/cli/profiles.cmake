# SPDX-License-Identifier: Apache-2.0
# Samples as other tools read them: folded stacks, speedscope, pprof, against SQL over the same trace.
if(TARGET kymo AND TARGET kymo-inject AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	add_executable(profiles_program ${CMAKE_CURRENT_LIST_DIR}/profiles_program.c)
	target_compile_options(profiles_program PRIVATE -O1 -g -fno-omit-frame-pointer)
	target_link_libraries(profiles_program PRIVATE Threads::Threads)
	add_test(NAME cli.profiles COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/profiles.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:profiles_program> ${PROJECT_SOURCE_DIR}/src/formats/pprof/profile.proto)
	set_tests_properties(cli.profiles PROPERTIES LABELS cli TIMEOUT 300)
endif()
