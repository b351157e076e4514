# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(sample ${CMAKE_CURRENT_LIST_DIR}/sample_test.c
               LIBS -Wl,--whole-archive kymo_capture_hostsample -Wl,--no-whole-archive
                    kymo_capture_perf kymo_core)
add_test(NAME unit.sample.timer COMMAND test_sample timer)
set_tests_properties(unit.sample unit.sample.timer PROPERTIES LABELS unit TIMEOUT 120
                     SKIP_RETURN_CODE 77)
