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
	set_tests_properties(cli.measures PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
