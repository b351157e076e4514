# SPDX-License-Identifier: Apache-2.0
# Names of code in libraries that are opened late, by relative paths, closed, or lie where another one lay; of programs that end or are killed.
if(TARGET kymo AND TARGET kymo-posix AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	foreach(name first second)
		add_library(modules_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/modules_library.c)
		target_compile_definitions(modules_${name} PRIVATE NAME=${name} IS_${name})
		target_compile_options(modules_${name} PRIVATE -fno-toplevel-reorder)
		set_target_properties(modules_${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/modules)
	endforeach()
	add_executable(modules_program ${CMAKE_CURRENT_LIST_DIR}/modules_program.c)
	target_link_libraries(modules_program PRIVATE ${CMAKE_DL_LIBS})
	add_dependencies(modules_program modules_first modules_second)
	add_test(NAME cli.modules COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/modules.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:modules_program> $<TARGET_FILE_DIR:modules_first>)
	set_tests_properties(cli.modules PROPERTIES LABELS cli TIMEOUT 120)
endif()
