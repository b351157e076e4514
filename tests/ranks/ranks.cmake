# SPDX-License-Identifier: Apache-2.0
# Ranks of jobs without MPI; launchers are the variables that they set.
if(TARGET kymo AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  foreach(what torchrun inside restart slurm stale nested together nodes nccl wrapper dies many some variable next_job same_address
               large_manifest)
    add_test(NAME cli.ranks.${what} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_ranks.py
             $<TARGET_FILE:kymo> ${what})
    set_tests_properties(cli.ranks.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
endif()
