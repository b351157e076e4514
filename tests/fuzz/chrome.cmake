# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_chrome tests/fuzz/chrome.
if(TARGET kymo_format_chrome AND TARGET kymo_format_json)
  add_executable(mini_fuzz_chrome fuzz/chrome_fuzz_main.c fuzz/chrome_fuzz.c support/memory_file.c)
  target_include_directories(mini_fuzz_chrome PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mini_fuzz_chrome PRIVATE kymo_format_chrome kymo_format_json)
  file(GLOB chrome_corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/chrome/*.json)
  add_test(NAME fuzz.chrome COMMAND mini_fuzz_chrome ${chrome_corpus})
  set_tests_properties(fuzz.chrome PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_chrome fuzz/chrome_fuzz.c support/memory_file.c)
    target_include_directories(fuzz_chrome PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_chrome PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_chrome PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_chrome PRIVATE kymo_format_chrome kymo_format_json)
  endif()
endif()
