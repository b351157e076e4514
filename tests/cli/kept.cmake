# SPDX-License-Identifier: Apache-2.0
# What writers keep of each kind of record, and the page that says it.
if(TARGET kymo AND TARGET every_kind AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.kept COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/kept.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:every_kind>)
	add_test(NAME cli.formats_page COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/check/formats.py
		${PROJECT_SOURCE_DIR}/docs/formats.md $<TARGET_FILE:kymo> ${PROJECT_SOURCE_DIR}/src/formats/formats.list)
	set_tests_properties(cli.kept cli.formats_page PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
if(TARGET kymo AND TARGET heat AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.totals COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/totals.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:heat>)
	set_tests_properties(cli.totals PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
