# SPDX-License-Identifier: Apache-2.0
# The selection of records: after the run, and at the source.
if(TARGET kymo AND TARGET kymo-inject AND KYMO_HAVE_SQLITE)
	find_package(OpenCL REQUIRED)
	add_executable(select_program ${CMAKE_CURRENT_LIST_DIR}/select_program.c)
	target_include_directories(select_program PRIVATE ${PROJECT_SOURCE_DIR}/include)
	target_compile_definitions(select_program PRIVATE CL_TARGET_OPENCL_VERSION=120 _GNU_SOURCE)
	target_link_libraries(select_program PRIVATE OpenCL::OpenCL Threads::Threads)
	add_test(NAME cli.selection COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/selection.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:select_program>)
	set_tests_properties(cli.selection PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 600)
	add_executable(source_program ${CMAKE_CURRENT_LIST_DIR}/source_program.c)
	target_include_directories(source_program PRIVATE ${PROJECT_SOURCE_DIR}/include)
	target_compile_definitions(source_program PRIVATE _GNU_SOURCE)
	target_link_libraries(source_program PRIVATE Threads::Threads)
	add_test(NAME cli.source COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/source.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:source_program> $<TARGET_FILE:select_program>)
	set_tests_properties(cli.source PROPERTIES LABELS cli TIMEOUT 600)
	add_test(NAME cli.merge COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/merge.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:select_program> $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.merge PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 600)
	foreach(mpi mpich openmpi)
		if(TARGET drum AND "${mpi}" IN_LIST KYMO_MPI_MODULES)
			add_test(NAME mpi.selection.${mpi} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/selection.py
				$<TARGET_FILE:kymo> $<TARGET_FILE:select_program> ${mpi} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/drum.${mpi})
			set_tests_properties(mpi.selection.${mpi} PROPERTIES LABELS "cli;mpi" SKIP_RETURN_CODE 77 TIMEOUT 600)
		endif()
	endforeach()
endif()
