# SPDX-License-Identifier: Apache-2.0
# The deterministic run is a test everywhere; the fuzzer itself needs clang (CC=clang):
#   build/bin/fuzz_raw CORPUS_DIR
if(TARGET kymo_synth AND TARGET kymo_format_json)
  add_executable(mini_fuzz_raw fuzz/raw_fuzz_main.c fuzz/raw_fuzz.c support/memory_file.c)
  target_link_libraries(mini_fuzz_raw PRIVATE kymo_synth kymo_format_raw kymo_format_text
                        kymo_format_json)
  add_test(NAME fuzz.raw COMMAND mini_fuzz_raw)
  set_tests_properties(fuzz.raw PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_raw fuzz/raw_fuzz.c support/memory_file.c)
    target_include_directories(fuzz_raw PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_raw PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_raw PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_raw PRIVATE kymo_format_raw kymo_format_text kymo_format_json)
  endif()
endif()
