# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_analysis)
  kymo_unit_test(waits unit/waits_test.c unit/waits_job.c LIBS kymo_analysis)
  kymo_unit_test(waits_together unit/waits_together_test.c unit/waits_job.c LIBS kymo_analysis)
  kymo_unit_test(facts unit/facts_test.c LIBS kymo_analysis)
endif()
