# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_otf2 tests/fuzz/otf2.
if(TARGET kymo_format_otf2 AND TARGET kymo_format_json)
  add_executable(mini_fuzz_otf2 fuzz/database_fuzz_main.c fuzz/otf2_fuzz.c)
  target_include_directories(mini_fuzz_otf2 PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mini_fuzz_otf2 PRIVATE kymo_format_otf2 kymo_format_json)
  # Each starts processes, which takes ten times as long with the address sanitizer.
  if(KYMO_SANITIZE)
    target_compile_definitions(mini_fuzz_otf2 PRIVATE FUZZ_ROUNDS=30)
  else()
    target_compile_definitions(mini_fuzz_otf2 PRIVATE FUZZ_ROUNDS=130)
  endif()
  file(GLOB otf2_corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/otf2/*.otf2pack)
  add_test(NAME fuzz.otf2 COMMAND mini_fuzz_otf2 ${otf2_corpus})
  # Some five seconds of a processor, three of them for the input that libotf2 comes to no end with.
  set_tests_properties(fuzz.otf2 PROPERTIES LABELS fuzz TIMEOUT 300
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_otf2 fuzz/otf2_fuzz.c)
    target_include_directories(fuzz_otf2 PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_otf2 PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_otf2 PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_otf2 PRIVATE kymo_format_otf2 kymo_format_json)
  endif()
endif()
