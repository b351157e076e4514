# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_synth)
  kymo_unit_test(raw unit/raw_test.c support/memory_file.c LIBS kymo_format_raw kymo_synth)
  kymo_unit_test(slim unit/slim_test.c LIBS kymo_format_raw kymo_drain kymo_synth)
  kymo_unit_test(stream unit/stream_test.c LIBS kymo_format_raw kymo_synth)
  if(KYMO_HAVE_DW AND TARGET test_stream)
    target_compile_definitions(test_stream PRIVATE KYMO_HAVE_DW)
  endif()
endif()
