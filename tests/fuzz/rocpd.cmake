# SPDX-License-Identifier: Apache-2.0
# ROCpd's reader. The deterministic run is a test everywhere: every file of the corpus, and mutations of these; the fuzzer
# itself needs clang (CC=clang): build/bin/fuzz_rocpd tests/fuzz/rocpd -max_total_time=15
if(TARGET kymo_format_rocpd AND TARGET kymo_format_text)
  add_executable(mini_fuzz_rocpd fuzz/rocpd_fuzz_main.c fuzz/rocpd_fuzz.c support/memory_file.c)
  target_include_directories(mini_fuzz_rocpd PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mini_fuzz_rocpd PRIVATE kymo_format_rocpd kymo_format_text)
  file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/rocpd/*.db)
  add_test(NAME fuzz.rocpd COMMAND mini_fuzz_rocpd ${corpus})
  set_tests_properties(fuzz.rocpd PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_rocpd fuzz/rocpd_fuzz.c support/memory_file.c)
    target_include_directories(fuzz_rocpd PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_rocpd PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_rocpd PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_rocpd PRIVATE kymo_format_rocpd kymo_format_text)
  endif()
endif()
