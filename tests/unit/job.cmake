# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(job ${CMAKE_CURRENT_LIST_DIR}/job_test.c LIBS kymo_base)
