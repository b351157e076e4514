# SPDX-License-Identifier: Apache-2.0
# Libraries of plain functions without a GPU: fakes for NCCL, cuBLAS, NVRTC and hipRTC; see tests/exports.
if(TARGET kymo AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  foreach(what collectives groups gemm lookups sanitized builds builds_edges builds_threads builds_besides
      builds_links)
    add_test(NAME cli.exports.${what} COMMAND ${Python3_EXECUTABLE} -B
      ${PROJECT_SOURCE_DIR}/tests/exports/test_exports.py $<TARGET_FILE:kymo> ${what})
    set_tests_properties(cli.exports.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
  # Those that are recorded where they are named.
  foreach(what numa weak ucx openshmem vaapi oneccl)
    add_test(NAME cli.exports.${what} COMMAND ${Python3_EXECUTABLE} -B
      ${PROJECT_SOURCE_DIR}/tests/exports/test_named.py $<TARGET_FILE:kymo> ${what})
    set_tests_properties(cli.exports.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
endif()
