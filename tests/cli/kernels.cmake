# SPDX-License-Identifier: Apache-2.0
# Metrics of kernels (kymo kernels) on made-up ones.
if(TARGET kymo_metrics AND TARGET kymo-synth)
	foreach(part values places roofline every missing amd findings diagnose samples baseline files lists)
		add_test(NAME cli.kernels.${part} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/kernels.py
			${part} $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> ${PROJECT_SOURCE_DIR})
		set_tests_properties(cli.kernels.${part} PROPERTIES LABELS cli TIMEOUT 120)
	endforeach()
	if(TARGET heat AND TARGET kymo-inject)
		add_test(NAME cli.kernels.real COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/kernels.py
			real $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> ${PROJECT_SOURCE_DIR} $<TARGET_FILE:heat>)
		set_tests_properties(cli.kernels.real PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
	endif()
endif()
