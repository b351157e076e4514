# SPDX-License-Identifier: Apache-2.0
# Level Zero through the real loader, on a scripted driver; see test_ze.py. Needs libze-dev, libze1.
find_path(ZE_HEADERS level_zero/ze_ddi.h)
find_library(ZE_LOADER ze_loader)
if(NOT ZE_HEADERS OR NOT ZE_LOADER)
  message(STATUS "Tests of Level Zero are left out: no level_zero/ze_ddi.h or libze_loader.so "
                 "(Debian libze-dev)")
  return()
endif()
set(here ${CMAKE_CURRENT_LIST_DIR})
set(out ${CMAKE_BINARY_DIR}/tests/ze)
set(made ${out}/gen/tables.c ${out}/gen/calls.c)
add_custom_command(OUTPUT ${made}
  COMMAND Python3::Interpreter -B ${here}/gen_driver.py ${ZE_HEADERS}/level_zero ${here}/driver.c
          ${out}/gen
  DEPENDS ${here}/gen_driver.py ${here}/driver.c ${PROJECT_SOURCE_DIR}/tools/gen/extract_ze.py
  VERBATIM)

add_library(ze_scripted_driver SHARED ${here}/driver.c ${out}/gen/tables.c)
add_executable(probe_ze ${here}/probe.c ${out}/gen/calls.c)
add_executable(late_ze ${here}/late.c)
foreach(target ze_scripted_driver probe_ze)
  target_include_directories(${target} PRIVATE ${here})
  target_include_directories(${target} SYSTEM PRIVATE ${ZE_HEADERS})
  target_compile_options(${target} PRIVATE -Wno-missing-prototypes -Wno-unused-parameter
    -Wno-cast-function-type -Wno-strict-prototypes)
endforeach()
set_target_properties(ze_scripted_driver PROPERTIES C_VISIBILITY_PRESET default
  LIBRARY_OUTPUT_DIRECTORY ${out})
set_target_properties(probe_ze late_ze PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${out})
target_link_libraries(ze_scripted_driver PRIVATE Threads::Threads)
target_link_libraries(probe_ze PRIVATE ${ZE_LOADER} Threads::Threads ${CMAKE_DL_LIBS})
target_link_libraries(late_ze PRIVATE ${CMAKE_DL_LIBS})

add_test(NAME level_zero COMMAND Python3::Interpreter -B ${here}/test_ze.py ${CMAKE_BINARY_DIR})
set_tests_properties(level_zero PROPERTIES LABELS ze TIMEOUT 300)
if(KYMO_SANITIZE MATCHES address) # the scripted driver and its programs free nothing at their end
	set_tests_properties(level_zero PROPERTIES ENVIRONMENT
		"ASAN_OPTIONS=verify_asan_link_order=0:handle_segv=0:handle_abort=0:disable_coredump=0:detect_leaks=0")
endif()
