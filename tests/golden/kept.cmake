# SPDX-License-Identifier: Apache-2.0
# All that Kymo tells of real recordings that were made once; see kept.py. Nothing of it where a part is not built.
set(kept ${CMAKE_CURRENT_LIST_DIR}/kept)
set(kept_whole ${KYMO_HAVE_SQLITE})
foreach(format rocpd xlsx otf2 ctf perfetto xspace pprof chrome rocprofv3)
  if(NOT TARGET kymo_format_${format})
    set(kept_whole OFF)
  endif()
endforeach()
if(TARGET kymo AND kept_whole)
  file(GLOB archives CONFIGURE_DEPENDS ${kept}/*.tar.xz)
  foreach(archive ${archives})
    get_filename_component(name ${archive} NAME)
    string(REPLACE ".tar.xz" "" name ${name})
    add_test(NAME golden.kept.${name}
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/kept.py $<TARGET_FILE:kymo> ${kept} ${name})
    set_tests_properties(golden.kept.${name} PROPERTIES LABELS golden TIMEOUT 120)
  endforeach()
endif()
