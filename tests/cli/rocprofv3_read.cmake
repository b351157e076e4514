# SPDX-License-Identifier: Apache-2.0
# CSV files and JSON as rocprofv3 lays them out, read; tests/cli/rocprofv3_read.py.
if(TARGET kymo AND TARGET kymo-synth AND TARGET probe_device AND TARGET kymo_format_rocprofv3 AND KYMO_HAVE_SQLITE AND KYMO_HAVE_ZLIB)
	add_test(NAME cli.rocprofv3_read COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/rocprofv3_read.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:probe_device>)
	set_tests_properties(cli.rocprofv3_read PROPERTIES LABELS cli TIMEOUT 300)
endif()
