# SPDX-License-Identifier: Apache-2.0
# Readers of SQLite databases. The deterministic run is a test everywhere: every file of the corpus, and mutations of these; the
# fuzzer itself needs clang (CC=clang): build/bin/fuzz_rocpd tests/fuzz/rocpd -max_total_time=15
foreach(format rocpd rpd nsys)
  if(TARGET kymo_format_${format} AND TARGET kymo_format_text)
    add_executable(mini_fuzz_${format} fuzz/database_fuzz_main.c fuzz/${format}_fuzz.c support/memory_file.c)
    target_include_directories(mini_fuzz_${format} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(mini_fuzz_${format} PRIVATE kymo_format_${format} kymo_format_text)
    file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${format}/*.db)
    add_test(NAME fuzz.${format} COMMAND mini_fuzz_${format} ${corpus})
    set_tests_properties(fuzz.${format} PROPERTIES LABELS fuzz TIMEOUT 120
                         ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
    if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
      add_executable(fuzz_${format} fuzz/${format}_fuzz.c support/memory_file.c)
      target_include_directories(fuzz_${format} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
      target_compile_options(fuzz_${format} PRIVATE -fsanitize=fuzzer)
      target_link_options(fuzz_${format} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(fuzz_${format} PRIVATE kymo_format_${format} kymo_format_text)
    endif()
  endif()
endforeach()
