# SPDX-License-Identifier: Apache-2.0
# Where commands may write, what is left of what did not come about, results without end.
if(TARGET kymo AND TARGET kymo-synth AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.outputs COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/outputs.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	add_test(NAME cli.temporary_stores COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/temporary_stores.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	add_test(NAME cli.long_results COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/long_results.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	add_test(NAME cli.mangled COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/mangled.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	add_test(NAME cli.device_rows COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/device_rows.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> ${CMAKE_CURRENT_SOURCE_DIR}/golden/perfetto_check.py)
	add_test(NAME cli.kernel_counters COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/kernel_counters.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> ${CMAKE_CURRENT_SOURCE_DIR}/golden/perfetto_check.py)
	add_test(NAME cli.query_file COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/query_file.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	add_test(NAME cli.summary_output COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/summary_output.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	add_test(NAME cli.lists COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/lists.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	add_test(NAME cli.denied COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/denied.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.denied PROPERTIES LABELS cli TIMEOUT 120 SKIP_RETURN_CODE 77)
	set_tests_properties(cli.lists cli.kernel_counters cli.mangled cli.device_rows cli.outputs cli.query_file cli.summary_output cli.temporary_stores cli.long_results PROPERTIES LABELS cli TIMEOUT 120)
endif()
