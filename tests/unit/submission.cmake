# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(submission ${CMAKE_CURRENT_LIST_DIR}/submission_test.c LIBS kymo_core)
