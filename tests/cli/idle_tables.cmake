# SPDX-License-Identifier: Apache-2.0
# Devices over the run, times without device work, messages under way: against SQL over the same trace.
if(TARGET kymo AND TARGET heat AND TARGET ocl_two AND KYMO_HAVE_SQLITE)
	set(job)
	if("openmpi" IN_LIST KYMO_MPI_MODULES)
		set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/overlap_program)
		list(TRANSFORM OpenCL_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE includes)
		add_custom_command(
			OUTPUT ${program}
			COMMAND ${KYMO_MPI_COMPILER_openmpi} -O1 -g -w -DCL_TARGET_OPENCL_VERSION=120 ${includes} -o ${program}
				${CMAKE_CURRENT_LIST_DIR}/overlap_program.c ${OpenCL_LIBRARIES}
			DEPENDS ${CMAKE_CURRENT_LIST_DIR}/overlap_program.c
			VERBATIM)
		add_custom_target(overlap_program ALL DEPENDS ${program})
		set(job "mpirun.openmpi --allow-run-as-root --oversubscribe" ${program})
	endif()
	add_test(NAME cli.idle_tables COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/idle_tables.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:heat> $<TARGET_FILE:ocl_two> ${job})
	set_tests_properties(cli.idle_tables PROPERTIES LABELS cli TIMEOUT 300)
endif()
