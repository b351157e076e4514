# SPDX-License-Identifier: Apache-2.0
# How counters share passes, and kernels that are counted one by one; providers of the test's own.
kymo_unit_test(passes ${CMAKE_CURRENT_LIST_DIR}/passes_test.c LIBS kymo_core)
