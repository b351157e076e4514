# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET heat AND NOT KYMO_SANITIZE)
	add_test(NAME cli.summary_mode COMMAND ${Python3_EXECUTABLE}
		${CMAKE_CURRENT_LIST_DIR}/summary_mode.py $<TARGET_FILE:kymo>
		${CMAKE_BINARY_DIR}/tests/summary_mode $<TARGET_FILE:heat> $<TARGET_FILE:annotated>
		$<TARGET_FILE:ocl_copies> $<TARGET_FILE:ocl_svm>)
	set_tests_properties(cli.summary_mode PROPERTIES LABELS cli TIMEOUT 120)
endif()
if(TARGET kymo AND KYMO_HAVE_SQLITE AND TARGET annotated AND NOT KYMO_SANITIZE)
	set(job)
	if("openmpi" IN_LIST KYMO_MPI_MODULES)
		set(job "mpirun.openmpi --allow-run-as-root --oversubscribe"
			${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/ring.openmpi)
	endif()
	add_test(NAME cli.summary_tables COMMAND ${Python3_EXECUTABLE} -B
		${CMAKE_CURRENT_LIST_DIR}/summary_tables.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:ocl_copies> $<TARGET_FILE:ocl_errors> $<TARGET_FILE:annotated> ${job})
	set_tests_properties(cli.summary_tables PROPERTIES LABELS cli TIMEOUT 600)
endif()
