# SPDX-License-Identifier: Apache-2.0
# Registration by all doors, against fake runtimes; see test_register.py.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(out ${CMAKE_BINARY_DIR}/tests/register)

# kymo_fake(target folder/name defines... LIBS libs): a library as some runtime would be called.
function(kymo_fake target folder name)
  cmake_parse_arguments(M "" "SOURCE" "LIBS" ${ARGN})
  add_library(${target} SHARED ${here}/${M_SOURCE})
  target_compile_definitions(${target} PRIVATE ${M_UNPARSED_ARGUMENTS})
  target_compile_options(${target} PRIVATE -Wno-missing-prototypes)
  target_link_libraries(${target} PRIVATE ${M_LIBS} ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${name}
    C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${out}/${folder} NO_SONAME ON)
endfunction()

kymo_fake(fake_rocm_linked linked libamdhip64.so.6 STYLE_LINKED SOURCE fake_rocm.c
  LIBS kymo-rocprofiler)
kymo_fake(fake_rocm_weak weak libamdhip64.so.6 STYLE_WEAK SOURCE fake_rocm.c)
kymo_fake(fake_rocm_dlopen dlopen libamdhip64.so.6 STYLE_DLOPEN SOURCE fake_rocm.c)
kymo_fake(fake_rocm_constructor constructor libamdhip64.so.6 STYLE_LINKED IN_CONSTRUCTOR
  SOURCE fake_rocm.c LIBS kymo-rocprofiler)
kymo_fake(fake_rocm_other linked libsomething.so.1 STYLE_LINKED SOURCE fake_rocm.c
  LIBS kymo-rocprofiler)
kymo_fake(fake_amd amd librocprofiler-register.so.0 SOURCE fake_amd.c)
kymo_fake(fake_profiler profiler librocprofiler-sdk.so SOURCE fake_profiler.c)

kymo_fake(fake_kymo_linked linked libfake.so.1 STYLE_LINKED SOURCE fake_kymo.c LIBS kymo-register)
kymo_fake(fake_kymo_weak weak libfake.so.1 STYLE_WEAK SOURCE fake_kymo.c)
kymo_fake(fake_kymo_dynamic dlopen libfake.so.1 STYLE_DYNAMIC SOURCE fake_kymo.c)
kymo_fake(fake_kymo_constructor constructor libfake.so.1 STYLE_LINKED IN_CONSTRUCTOR
  SOURCE fake_kymo.c LIBS kymo-register)
kymo_fake(fake_kymo_inner inner libinner.so.1 STYLE_LINKED IN_CONSTRUCTOR FAKE_NAME="inner"
  SOURCE fake_kymo.c LIBS kymo-register)
kymo_fake(tool_count tool libtool-count.so SOURCE tool_count.c LIBS libkymo)
kymo_fake(tool_where tool libtool-where.so SOURCE tool_where.c LIBS libkymo)
foreach(name a b)
  kymo_fake(tool_intercept_${name} tool libtool-intercept-${name}.so NAME="${name}"
    SOURCE tool_intercept.c LIBS libkymo)
endforeach()

foreach(probe rocm register)
  add_executable(probe_${probe} ${here}/probe_${probe}.c ${here}/check.c)
  target_link_libraries(probe_${probe} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(probe_${probe} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${out})
endforeach()

add_test(NAME register COMMAND Python3::Interpreter -B ${here}/test_register.py ${CMAKE_BINARY_DIR})
set_tests_properties(register PROPERTIES LABELS register TIMEOUT 300)

kymo_unit_test(table ${here}/test_table.c LIBS kymo_capture_rocm)
kymo_unit_test(intercept ${here}/test_intercept.c LIBS kymo_capture_rocm)
