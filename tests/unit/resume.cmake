# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(resume ${CMAKE_CURRENT_SOURCE_DIR}/unit/resume_test.c
               ${CMAKE_CURRENT_SOURCE_DIR}/support/synth_producer.c
               LIBS kymo_drain kymo_wire kymo_base)
target_include_directories(test_resume PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
