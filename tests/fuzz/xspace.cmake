# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_xspace tests/fuzz/xspace.
if(TARGET kymo_format_xspace AND TARGET kymo_format_json)
  add_executable(mini_fuzz_xspace fuzz/protobuf_fuzz_main.c fuzz/xspace_fuzz.c support/memory_file.c)
  target_include_directories(mini_fuzz_xspace PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mini_fuzz_xspace PRIVATE kymo_format_xspace kymo_format_json)
  file(GLOB xspace_corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/xspace/*.pb)
  add_test(NAME fuzz.xspace COMMAND mini_fuzz_xspace ${xspace_corpus})
  set_tests_properties(fuzz.xspace PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_xspace fuzz/xspace_fuzz.c support/memory_file.c)
    target_include_directories(fuzz_xspace PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_xspace PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_xspace PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_xspace PRIVATE kymo_format_xspace kymo_format_json)
  endif()
endif()
