# SPDX-License-Identifier: Apache-2.0
# Whole programs, recorded. With a sanitizer only our own programs are: the others are not built
# with it.
if(TARGET kymo AND KYMO_HAVE_SQLITE)
	set(tests)
	foreach(program ocl_noprofile ocl_poll ocl_callbacks ocl_errors ocl_svm ocl_copies ocl_native
			ocl_buffers ocl_fork ocl_many)
		add_test(NAME cli.programs.${program} COMMAND ${Python3_EXECUTABLE}
			${CMAKE_CURRENT_LIST_DIR}/test_programs.py
			$<TARGET_FILE:kymo> $<TARGET_FILE:${program}>)
		list(APPEND tests cli.programs.${program})
	endforeach()
	add_test(NAME cli.kill COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_kill.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_sleepy>)
	list(APPEND tests cli.kill)
	foreach(part endings modes live formats filters polls)
		add_test(NAME cli.unfinished.${part} COMMAND ${Python3_EXECUTABLE}
			${CMAKE_CURRENT_LIST_DIR}/test_unfinished.py
			$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_hang> ${part})
		list(APPEND tests cli.unfinished.${part})
	endforeach()
	add_test(NAME cli.unfinished.flood COMMAND ${Python3_EXECUTABLE}
		${CMAKE_CURRENT_LIST_DIR}/test_unfinished.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_flood> flood)
	list(APPEND tests cli.unfinished.flood)
	if(KYMO_HAVE_DW AND NOT KYMO_SANITIZE)
		add_test(NAME cli.lines COMMAND ${Python3_EXECUTABLE}
			${CMAKE_CURRENT_LIST_DIR}/test_lines.py $<TARGET_FILE:kymo>)
		list(APPEND tests cli.lines)
	endif()
	add_test(NAME cli.quick COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_quick.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_quick>)
	list(APPEND tests cli.quick)
	if(KYMO_HAVE_PROTOBUFC AND TARGET heat)
		add_test(NAME cli.perfetto COMMAND ${Python3_EXECUTABLE}
			${CMAKE_CURRENT_LIST_DIR}/test_perfetto.py $<TARGET_FILE:kymo>
			${PROJECT_SOURCE_DIR}/tests/golden/perfetto_check.py $<TARGET_FILE:heat>)
		list(APPEND tests cli.perfetto)
		if(TARGET annotated)
			add_test(NAME cli.perfetto.parts COMMAND ${Python3_EXECUTABLE}
				${CMAKE_CURRENT_LIST_DIR}/test_perfetto_parts.py $<TARGET_FILE:kymo> $<TARGET_FILE:heat>
				$<TARGET_FILE:annotated>)
			list(APPEND tests cli.perfetto.parts)
		endif()
	endif()
	if(NOT KYMO_SANITIZE)
		foreach(program clinfo clpeak clblast hashcat)
			add_test(NAME cli.real.${program} COMMAND ${Python3_EXECUTABLE}
				${CMAKE_CURRENT_LIST_DIR}/real_programs.py
				$<TARGET_FILE:kymo> $<TARGET_FILE:countlayer> ${program})
			list(APPEND tests cli.real.${program})
		endforeach()
	endif()
	if(KYMO_SANITIZE) # LeakSanitizer speaks on the standard error of a child that is compared
		set_tests_properties(cli.programs.ocl_fork PROPERTIES ENVIRONMENT
			"ASAN_OPTIONS=detect_leaks=0:disable_coredump=0:verify_asan_link_order=0")
	endif()
	set_tests_properties(${tests} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
