# SPDX-License-Identifier: Apache-2.0
# The tools interface, part by part.
foreach(part subscribers external work memory objects value deliver_end nested stack device_clock shared)
  kymo_unit_test(${part} ${CMAKE_CURRENT_LIST_DIR}/${part}_test.c
    ${CMAKE_CURRENT_LIST_DIR}/tool_support.c LIBS kymo_core)
endforeach()
if(KYMO_SANITIZE MATCHES address) # whose main thread leaves by pthread_exit() leaks what cmocka has there
  set_property(TEST unit.deliver_end PROPERTY ENVIRONMENT LSAN_OPTIONS=detect_leaks=0)
endif()
if(KYMO_SANITIZE) # hundreds of processes, of which each takes ten times as long to start and to end
  set_tests_properties(unit.nested PROPERTIES TIMEOUT 600)
endif()
if(TARGET kymo_capture_mpi)
  kymo_unit_test(exclusion ${CMAKE_CURRENT_LIST_DIR}/exclusion_test.c
    ${CMAKE_CURRENT_LIST_DIR}/tool_support.c LIBS kymo_capture_mpi)
  add_dependencies(test_exclusion mpi_gen)
endif()
if(TARGET kymo_capture_openmp)
  kymo_unit_test(openmp ${CMAKE_CURRENT_LIST_DIR}/openmp_test.c
    ${CMAKE_CURRENT_LIST_DIR}/tool_support.c LIBS kymo_capture_openmp)
endif()
