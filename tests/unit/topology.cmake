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
  set(fake_hwloc ${CMAKE_CURRENT_BINARY_DIR}/fake-hwloc)
  add_library(fake-hwloc SHARED ${CMAKE_CURRENT_LIST_DIR}/../support/sysfs/fake_hwloc.c)
  target_compile_options(fake-hwloc PRIVATE -Wno-missing-prototypes)
  set_target_properties(fake-hwloc PROPERTIES OUTPUT_NAME hwloc SOVERSION 15
    C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${fake_hwloc})
  add_dependencies(test_topology fake-hwloc)
  add_test(NAME unit.topology.hwloc COMMAND test_topology alone)
  set_tests_properties(unit.topology.hwloc PROPERTIES LABELS unit TIMEOUT 120
                       ENVIRONMENT LD_LIBRARY_PATH=${fake_hwloc})
endif()
