# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(job_tally ${CMAKE_CURRENT_SOURCE_DIR}/unit/job_tally_test.c LIBS kymo_wire)
