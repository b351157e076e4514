# SPDX-License-Identifier: Apache-2.0
# ROCpd databases: the schema, totals, what readers of others need; tests/cli/rocpd.py.
if(TARGET kymo AND TARGET kymo-synth AND KYMO_HAVE_SQLITE)
	set(programs)
	if(TARGET annotated AND TARGET ocl_copies AND NOT KYMO_SANITIZE)
		set(programs $<TARGET_FILE:annotated> $<TARGET_FILE:ocl_copies>)
	endif()
	add_test(NAME cli.rocpd COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/rocpd.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> ${programs})
	set_tests_properties(cli.rocpd PROPERTIES LABELS cli TIMEOUT 300)
endif()
