# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(jit ${CMAKE_CURRENT_LIST_DIR}/jit_test.c ${CMAKE_SOURCE_DIR}/src/capture/hostsample/jit.c LIBS kymo_core)
