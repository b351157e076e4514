# SPDX-License-Identifier: Apache-2.0
# ninja update-golden rewrites the expected files: look at the difference before committing it.
if(TARGET kymo AND TARGET kymo-synth)
  set(golden ${CMAKE_CURRENT_SOURCE_DIR}/golden)
  add_test(NAME golden.stream
           COMMAND ${golden}/stream.sh $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>
                   ${golden}/stream)
  set_tests_properties(golden.stream PROPERTIES LABELS golden TIMEOUT 60)
  add_custom_target(update-golden
    COMMAND ${golden}/stream.sh $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> ${golden}/stream
            --update
    COMMAND ${Python3_EXECUTABLE} ${golden}/rocpd.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>
            ${golden}/rocpd.txt --update
    COMMAND ${Python3_EXECUTABLE} -B ${golden}/kept.py $<TARGET_FILE:kymo> ${kept} all --update
    DEPENDS kymo kymo-synth)
endif()
if(TARGET kymo AND TARGET kymo-synth AND KYMO_HAVE_SQLITE)
  add_test(NAME golden.rocpd
           COMMAND ${Python3_EXECUTABLE} -B ${golden}/rocpd.py $<TARGET_FILE:kymo>
                   $<TARGET_FILE:kymo-synth> ${golden}/rocpd.txt)
  set_tests_properties(golden.rocpd PROPERTIES LABELS golden TIMEOUT 60)
endif()
