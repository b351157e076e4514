# SPDX-License-Identifier: Apache-2.0
# What exports and imports say of what they did.
if(TARGET kymo AND TARGET kymo-synth AND TARGET every_kind AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	add_library(count_sync MODULE ${CMAKE_CURRENT_LIST_DIR}/count_sync.c)
	add_test(NAME cli.exchange COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/exchange.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:every_kind> $<TARGET_FILE:count_sync>)
	set_tests_properties(cli.exchange PROPERTIES LABELS cli TIMEOUT 600)
endif()
