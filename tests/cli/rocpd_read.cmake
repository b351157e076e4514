# SPDX-License-Identifier: Apache-2.0
# Reading ROCpd, also damaged and hostile databases; tests/cli/rocpd_read.py.
if(TARGET kymo AND TARGET kymo-synth AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.rocpd_read COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/rocpd_read.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.rocpd_read PROPERTIES LABELS cli TIMEOUT 300)
endif()
