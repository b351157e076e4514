# SPDX-License-Identifier: Apache-2.0
# Plots and printed reports against known records, the summary's numbers, and programs that read such files.
if(TARGET kymo_page AND TARGET kymo-inject)
	set(test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/plots.py $<TARGET_FILE:kymo>)
	add_test(NAME cli.plots.made COMMAND ${test} made)
	add_test(NAME cli.plots.outputs COMMAND ${test} outputs)
	set_tests_properties(cli.plots.made cli.plots.outputs PROPERTIES LABELS cli TIMEOUT 300)
	if(TARGET heat)
		add_test(NAME cli.plots.recorded COMMAND ${test} recorded $<TARGET_FILE:heat>)
		set_tests_properties(cli.plots.recorded PROPERTIES LABELS cli TIMEOUT 300)
	endif()
	if(TARGET drum AND "openmpi" IN_LIST KYMO_MPI_MODULES)
		add_test(NAME cli.plots.messages COMMAND ${test} messages mpirun.openmpi
			${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/drum.openmpi --allow-run-as-root --oversubscribe)
		set_tests_properties(cli.plots.messages PROPERTIES LABELS "cli;mpi" TIMEOUT 300)
	endif()
endif()
