# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_view tests/fuzz/view. Each input is a connection: there are
# fewer rounds.
if(TARGET kymo_page AND TARGET kymo_synth AND MICROHTTPD_INCLUDE AND MICROHTTPD_LIBRARY)
  add_executable(mini_fuzz_view fuzz/chrome_fuzz_main.c fuzz/view_fuzz.c support/memory_file.c)
  target_compile_definitions(mini_fuzz_view PRIVATE FUZZ_ROUNDS=300)
  target_include_directories(mini_fuzz_view PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mini_fuzz_view PRIVATE kymo_synth kymo_page)
  file(GLOB view_corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/view/*.http)
  add_test(NAME fuzz.view COMMAND mini_fuzz_view ${view_corpus})
  set_tests_properties(fuzz.view PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_view fuzz/view_fuzz.c)
    target_include_directories(fuzz_view PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_view PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_view PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_view PRIVATE kymo_synth kymo_page)
  endif()
endif()
