# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_analysis)
  kymo_unit_test(device_rules unit/device_rules_test.c unit/device_rules_run.c LIBS kymo_analysis)
  kymo_unit_test(device_use_rules unit/device_use_rules_test.c unit/device_rules_run.c LIBS kymo_analysis)
  kymo_unit_test(collective_rules unit/collective_rules_test.c unit/collective_run.c LIBS kymo_analysis)
  kymo_unit_test(team_rules unit/team_rules_test.c LIBS kymo_analysis)
  kymo_unit_test(host_rules unit/host_rules_test.c LIBS kymo_analysis)
endif()
