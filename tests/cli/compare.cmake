# SPDX-License-Identifier: Apache-2.0
# kymo compare over traces whose every time is known, and how often it is wrong where their noise is. How often
# over recorded runs takes a while: tests/compare/rates.py run.
if(TARGET kymo AND TARGET kymo-synth)
	set(program_compare $<$<TARGET_EXISTS:ocl_steps>:$<TARGET_FILE:ocl_steps>>)
	foreach(part compare rates)
		add_test(NAME cli.compare.${part} COMMAND ${Python3_EXECUTABLE} -B
			${CMAKE_CURRENT_SOURCE_DIR}/compare/test_${part}.py
			$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> ${program_${part}})
		set_tests_properties(cli.compare.${part} PROPERTIES LABELS cli TIMEOUT 900)
	endforeach()
endif()
