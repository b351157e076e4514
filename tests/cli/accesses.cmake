# SPDX-License-Identifier: Apache-2.0
# Accesses of OpenCL kernels that are instrumented, as a device in lockstep makes them.
if(TARGET kymo AND TARGET ocl_accesses AND TARGET ocl_lines AND TARGET kymo_metrics AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	add_test(NAME cli.accesses COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/accesses.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:ocl_accesses> $<TARGET_FILE:ocl_lines>)
	set_tests_properties(cli.accesses PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
