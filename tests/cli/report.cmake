# SPDX-License-Identifier: Apache-2.0
# The data of pages against SQL over the same trace.
if(TARGET kymo_page AND TARGET kymo-inject AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	set(test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/report.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	foreach(part made small hostile places plain ranks unlike)
		add_test(NAME cli.report.${part} COMMAND ${test} ${part})
		set_tests_properties(cli.report.${part} PROPERTIES LABELS cli TIMEOUT 600)
	endforeach()
	if(TARGET heat AND TARGET annotated)
		add_test(NAME cli.report.recorded COMMAND ${test} recorded $<TARGET_FILE:annotated> $<TARGET_FILE:heat>)
		set_tests_properties(cli.report.recorded PROPERTIES LABELS cli TIMEOUT 600)
	endif()
	if(TARGET drum AND "openmpi" IN_LIST KYMO_MPI_MODULES)
		add_test(NAME cli.report.messages COMMAND ${test} messages mpirun.openmpi
			${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/drum.openmpi --allow-run-as-root --oversubscribe)
		set_tests_properties(cli.report.messages PROPERTIES LABELS "cli;mpi" TIMEOUT 600)
	endif()
	if(MICROHTTPD_INCLUDE AND MICROHTTPD_LIBRARY)
		add_library(hold_open MODULE ${PROJECT_SOURCE_DIR}/tests/support/hold_open.c)
		target_link_libraries(hold_open PRIVATE ${CMAKE_DL_LIBS})
		add_test(NAME cli.view COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/view.py
			$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:hold_open>)
		add_test(NAME cli.view.glance COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/view_glance.py
			$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:hold_open>)
		add_test(NAME cli.view.disk COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/view_disk.py
			$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:hold_open>)
		set_tests_properties(cli.view cli.view.disk cli.view.glance PROPERTIES LABELS cli TIMEOUT 300)
		if(TARGET every_kind)
			add_test(NAME cli.view.record COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/record.py
				$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:every_kind>)
			set_tests_properties(cli.view.record PROPERTIES LABELS cli TIMEOUT 300)
		endif()
	endif()
endif()
