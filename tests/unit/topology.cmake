# SPDX-License-Identifier: Apache-2.0
# Machines that are not here: trees of /sys and /proc made by tests/support/sysfs.
foreach(test topology topology_merge)
  kymo_unit_test(${test} ${CMAKE_CURRENT_LIST_DIR}/${test}_test.c
                 ${CMAKE_CURRENT_LIST_DIR}/../support/sysfs/fake_sysfs.c
                 LIBS kymo_topology kymo_base)
  if(TARGET test_${test})
    target_include_directories(test_${test} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../support/sysfs)
  endif()
endforeach()
if(TARGET test_topology AND KYMO_HAVE_HWLOC)
  target_compile_definitions(test_topology PRIVATE KYMO_HAVE_HWLOC)
endif()
