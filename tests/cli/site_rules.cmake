# SPDX-License-Identifier: Apache-2.0
# Rules of a site (kymo diagnose --rules): the example, mistakes in such files, hostile ones.
if(TARGET kymo AND TARGET kymo-inject AND TARGET heat)
	foreach(part example numbers edges mistakes hostile)
		add_test(NAME cli.site_rules.${part} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/site_rules.py
			${part} $<TARGET_FILE:kymo> $<TARGET_FILE:heat> ${CMAKE_SOURCE_DIR}/examples/rules)
		set_tests_properties(cli.site_rules.${part} PROPERTIES LABELS cli TIMEOUT 300 SKIP_RETURN_CODE 77)
	endforeach()
endif()
