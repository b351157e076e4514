# SPDX-License-Identifier: Apache-2.0
# Annotations in every language, and what goes wrong with them. The programs are built by the test,
# with the installed header and nothing else; sanitizers cannot be preloaded into them.
if(TARGET kymo AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	set(tests)
	foreach(what c start_paused pauses depth cpp fortran python hostile storm late named)
		add_test(NAME cli.marker.${what} COMMAND ${Python3_EXECUTABLE} -B
			${PROJECT_SOURCE_DIR}/tests/marker/test_marker.py ${PROJECT_SOURCE_DIR}
			$<TARGET_FILE:kymo> $<TARGET_FILE:libkymo> ${what})
		list(APPEND tests cli.marker.${what})
	endforeach()
	if(TARGET annotated)
		add_test(NAME cli.marker.device COMMAND ${Python3_EXECUTABLE} -B
			${PROJECT_SOURCE_DIR}/tests/marker/test_marker.py ${PROJECT_SOURCE_DIR}
			$<TARGET_FILE:kymo> $<TARGET_FILE:annotated> device)
		list(APPEND tests cli.marker.device)
	endif()
	set_tests_properties(${tests} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
if(TARGET libkymo)
	add_executable(marker_cost ${PROJECT_SOURCE_DIR}/tests/marker/cost.c)
	target_link_libraries(marker_cost PRIVATE libkymo kymo_base)
endif()
