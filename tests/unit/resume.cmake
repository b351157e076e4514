# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(resume ${CMAKE_CURRENT_SOURCE_DIR}/unit/resume_test.c LIBS kymo_drain kymo_wire kymo_base)
