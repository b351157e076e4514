# SPDX-License-Identifier: Apache-2.0
# Workbooks and Markdown against CSV and SQL of the same trace.
if(TARGET kymo AND TARGET kymo-inject AND TARGET ocl_two AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	set(forms md)
	if(TARGET kymo_format_xlsx)
		list(APPEND forms xlsx)
		set(limit limit)
	endif()
	list(JOIN forms "," forms)
	foreach(forms ${forms} ${limit})
		string(REPLACE "," "_" name ${forms})
		add_test(NAME cli.sheets.${name} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/sheets.py
			$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:ocl_two> $<TARGET_FILE:profiles_program>
			$<TARGET_FILE:annotated> ${forms})
		set_tests_properties(cli.sheets.${name} PROPERTIES LABELS cli TIMEOUT 600)
	endforeach()
endif()
