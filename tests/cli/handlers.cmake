# SPDX-License-Identifier: Apache-2.0
# Handlers of records of instrumented kernels: Kymo's own, the example, and libraries that are not as they should be.
if(TARGET kymo AND TARGET ocl_accesses AND TARGET ocl_regions AND TARGET kymo_metrics AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	set(folder ${CMAKE_CURRENT_BINARY_DIR}/handlers)
	add_library(kymo-handler-span MODULE ${PROJECT_SOURCE_DIR}/examples/handlers/span.c)
	foreach(odd version export tables batch)
		add_library(kymo-handler-odd-${odd} MODULE ${PROJECT_SOURCE_DIR}/tests/handlers/odd_handler.c)
		string(TOUPPER ODD_${odd} define)
		target_compile_definitions(kymo-handler-odd-${odd} PRIVATE ${define})
	endforeach()
	foreach(library span odd-version odd-export odd-tables odd-batch)
		set_target_properties(kymo-handler-${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${folder})
	endforeach()
	add_test(NAME cli.handlers COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/handlers.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:ocl_accesses> $<TARGET_FILE:ocl_regions> ${folder})
	set_tests_properties(cli.handlers PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
