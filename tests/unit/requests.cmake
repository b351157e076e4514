# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(requests ${CMAKE_CURRENT_LIST_DIR}/requests_test.c LIBS kymo_capture_mpi)
add_dependencies(test_requests mpi_gen)
