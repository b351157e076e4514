# SPDX-License-Identifier: Apache-2.0
# With a provider of the test's own, and those of the operating system.
kymo_unit_test(counter ${CMAKE_CURRENT_LIST_DIR}/counter_test.c
               LIBS -Wl,--whole-archive kymo_capture_perf -Wl,--no-whole-archive kymo_core)
