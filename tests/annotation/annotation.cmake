# SPDX-License-Identifier: Apache-2.0
# Foreign annotation interfaces, from programs built by the tests to the trace. Sanitizers cannot be
# preloaded into such programs.
# kymo_annotation_tests(folder what...): tests/<folder>/test_<folder>.py KYMO <what>
function(kymo_annotation_tests folder)
  foreach(what ${ARGN})
    add_test(NAME cli.${folder}.${what} COMMAND ${Python3_EXECUTABLE} -B
      ${PROJECT_SOURCE_DIR}/tests/${folder}/test_${folder}.py $<TARGET_FILE:kymo> ${what})
    set_tests_properties(cli.${folder}.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77
      TIMEOUT 300)
  endforeach()
endfunction()

if(TARGET kymo AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  kymo_annotation_tests(nvtx fake real domains hostile threads user)
  kymo_annotation_tests(itt fake real domains hostile threads)
  kymo_annotation_tests(annotation roctx roctx_preloaded roctx_versioned together)
  kymo_annotation_tests(threads processes sampled daemon many unasked)
  kymo_annotation_tests(clocks stepping leaping)
  kymo_annotation_tests(kokkos fake hostile real)
  kymo_annotation_tests(openmp host imbalance diagnose barriers full target regions fallback diagnose_fallback told_once unconnected other_tool disabled gcc)
endif()

# Payloads at random; `make asan` is where it can tell most.
add_executable(nvtx_payload_fuzz ${PROJECT_SOURCE_DIR}/tests/nvtx/payload_fuzz.c)
target_link_libraries(nvtx_payload_fuzz PRIVATE kymo_capture_nvtx)
add_test(NAME unit.nvtx.payload COMMAND nvtx_payload_fuzz)
set_tests_properties(unit.nvtx.payload PROPERTIES LABELS unit TIMEOUT 120)

# All functions of the annotation interfaces, misused at random.
add_executable(annotation_fuzz ${PROJECT_SOURCE_DIR}/tests/annotation/fuzz.c)
target_link_libraries(annotation_fuzz PRIVATE kymo_capture_nvtx kymo_capture_itt
  kymo_capture_kokkos)
add_test(NAME fuzz.annotation COMMAND annotation_fuzz)
set_tests_properties(fuzz.annotation PROPERTIES LABELS fuzz TIMEOUT 300)
if(KYMO_SANITIZE MATCHES address) # what a hostile program never destroys stays
  set_tests_properties(fuzz.annotation PROPERTIES ENVIRONMENT
    "ASAN_OPTIONS=verify_asan_link_order=0:handle_segv=0:handle_abort=0:disable_coredump=0:detect_leaks=0")
endif()

# What the interfaces have and what is provided of it.
add_executable(annotation_functions ${PROJECT_SOURCE_DIR}/tests/annotation/functions.c)
target_link_libraries(annotation_functions PRIVATE kymo_capture_nvtx kymo_capture_itt
  kymo_capture_openmp)
add_test(NAME unit.annotation.functions COMMAND ${Python3_EXECUTABLE} -B
  ${PROJECT_SOURCE_DIR}/tests/annotation/test_functions.py $<TARGET_FILE:annotation_functions>
  $<TARGET_FILE:libkymo>)
set_tests_properties(unit.annotation.functions PROPERTIES LABELS unit SKIP_RETURN_CODE 77
  TIMEOUT 60)
