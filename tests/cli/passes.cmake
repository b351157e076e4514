# SPDX-License-Identifier: Apache-2.0
# Counters of kernels on processors, in several passes, with a provider of the test's own.
if(TARGET ocl_replay AND TARGET kymo AND NOT KYMO_SANITIZE)
	add_library(passes_provider MODULE ${CMAKE_CURRENT_LIST_DIR}/passes_provider.c)
	target_link_libraries(passes_provider PRIVATE libkymo ${CMAKE_DL_LIBS})
	add_test(NAME cli.passes COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/passes.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_replay> $<TARGET_FILE:ocl_once>
		$<TARGET_FILE:passes_provider>)
	set_tests_properties(cli.passes PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
