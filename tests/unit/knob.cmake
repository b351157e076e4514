# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(knob ${CMAKE_CURRENT_SOURCE_DIR}/unit/knob_test.c LIBS kymo_base)
