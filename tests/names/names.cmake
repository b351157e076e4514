# SPDX-License-Identifier: Apache-2.0
# Hostile names in every output. The program has the installed header and nothing else.
if(TARGET kymo AND TARGET kymo-synth AND KYMO_HAVE_SQLITE AND
   NOT KYMO_SANITIZE)
  add_executable(named_program ${CMAKE_CURRENT_LIST_DIR}/program.c)
  target_link_libraries(named_program PRIVATE ${CMAKE_DL_LIBS})
  foreach(what traces messages kept)
    add_test(NAME cli.names.${what} COMMAND ${Python3_EXECUTABLE} -B
             ${CMAKE_CURRENT_LIST_DIR}/test_names.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>
             $<TARGET_FILE:named_program>
             ${CMAKE_CURRENT_SOURCE_DIR}/golden/perfetto_check.py ${what})
    set_tests_properties(cli.names.${what} PROPERTIES LABELS cli TIMEOUT 1200)
  endforeach()
endif()
