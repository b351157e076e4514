# SPDX-License-Identifier: Apache-2.0
# Functions of programs that count their own calls: built with the compilers' hooks, and without, to be patched in memory and on disk.
if(TARGET kymo AND TARGET kymo-function AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(folder ${CMAKE_CURRENT_LIST_DIR}/../function)
	foreach(what hooks mcount fentry patched instrumented debian opened xray sampled unwound stepped leaving given signaled short recursive)
    add_test(NAME cli.function.${what} COMMAND ${Python3_EXECUTABLE} -B ${folder}/test_functions.py $<TARGET_FILE:kymo>
             ${CMAKE_C_COMPILER} ${what})
    set_tests_properties(cli.function.${what} PROPERTIES LABELS cli TIMEOUT 300)
  endforeach()
endif()
