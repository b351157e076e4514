# SPDX-License-Identifier: Apache-2.0
# Libraries under the names that the sampler loads; fakes for hardware that is not here.
set(fakes ${CMAKE_CURRENT_BINARY_DIR}/telemetry_fakes)
foreach(part "nvml libnvidia-ml.so.1" "rocm_smi librocm_smi64.so" "sysman libze_loader.so.1")
  separate_arguments(part)
  list(GET part 0 name)
  list(GET part 1 file)
  add_library(fake_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/fake_${name}.c)
  target_compile_options(fake_${name} PRIVATE -Wno-missing-prototypes)
  set_target_properties(fake_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${fakes}
                        PREFIX "" OUTPUT_NAME ${file} SUFFIX "")
endforeach()
# Beside ROCm-SMI it would be asked instead: it has a folder of its own.
add_library(fake_amd_smi MODULE ${CMAKE_CURRENT_LIST_DIR}/fake_amd_smi.c)
target_compile_options(fake_amd_smi PRIVATE -Wno-missing-prototypes)
set_target_properties(fake_amd_smi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${fakes}/amd PREFIX "" OUTPUT_NAME libamd_smi.so
                      SUFFIX "")

if(NOT TARGET kymo_format_raw)
  return()
endif()
kymo_unit_test(telemetry ${CMAKE_CURRENT_LIST_DIR}/telemetry_test.c
               LIBS kymo_telemetry kymo_format_raw m)
add_dependencies(test_telemetry fake_nvml fake_rocm_smi fake_sysman)
set_tests_properties(unit.telemetry PROPERTIES ENVIRONMENT "LD_LIBRARY_PATH=${fakes}")

if(TARGET kymo AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  foreach(what program children attached outside window ranks killed energy networks links comings hostile_net disks loopback hostile denied nvml faults plots others amd listing only processors perf times kernels)
    add_test(NAME cli.telemetry.${what} COMMAND ${Python3_EXECUTABLE} -B
      ${CMAKE_CURRENT_LIST_DIR}/test_telemetry.py $<TARGET_FILE:kymo> ${fakes} ${what})
    set_tests_properties(cli.telemetry.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
  endforeach()
endif()
