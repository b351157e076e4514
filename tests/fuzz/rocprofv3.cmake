# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_rocprofv3 tests/fuzz/rocprofv3.
if(TARGET kymo_format_rocprofv3 AND TARGET kymo_format_json AND KYMO_HAVE_ZLIB)
  add_executable(mini_fuzz_rocprofv3 fuzz/chrome_fuzz_main.c fuzz/rocprofv3_fuzz.c support/memory_file.c)
  target_include_directories(mini_fuzz_rocprofv3 PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mini_fuzz_rocprofv3 PRIVATE kymo_format_rocprofv3 kymo_format_json)
  file(GLOB rocprofv3_corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/rocprofv3/*)
  add_test(NAME fuzz.rocprofv3 COMMAND mini_fuzz_rocprofv3 ${rocprofv3_corpus})
  set_tests_properties(fuzz.rocprofv3 PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_rocprofv3 fuzz/rocprofv3_fuzz.c support/memory_file.c)
    target_include_directories(fuzz_rocprofv3 PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_rocprofv3 PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_rocprofv3 PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_rocprofv3 PRIVATE kymo_format_rocprofv3 kymo_format_json)
  endif()
endif()
