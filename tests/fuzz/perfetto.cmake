# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_perfetto tests/fuzz/perfetto.
if(TARGET kymo_format_perfetto AND TARGET kymo_format_json)
  add_executable(mini_fuzz_perfetto fuzz/protobuf_fuzz_main.c fuzz/perfetto_fuzz.c support/memory_file.c)
  target_include_directories(mini_fuzz_perfetto PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mini_fuzz_perfetto PRIVATE kymo_format_perfetto kymo_format_json)
  file(GLOB perfetto_corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/perfetto/*.pftrace)
  add_test(NAME fuzz.perfetto COMMAND mini_fuzz_perfetto ${perfetto_corpus})
  set_tests_properties(fuzz.perfetto PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_perfetto fuzz/perfetto_fuzz.c support/memory_file.c)
    target_include_directories(fuzz_perfetto PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_perfetto PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_perfetto PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_perfetto PRIVATE kymo_format_perfetto kymo_format_json)
  endif()
endif()
