# SPDX-License-Identifier: Apache-2.0
# What reaches the disk, whoever dies and whatever the file system refuses.
set(out ${CMAKE_BINARY_DIR}/tests/harm)
if(TARGET kymo AND TARGET kymo-inject AND TARGET OpenCL::OpenCL)
  add_executable(harm_load ${CMAKE_CURRENT_LIST_DIR}/load.c)
  target_link_libraries(harm_load PRIVATE OpenCL::OpenCL Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(harm_load PROPERTIES OUTPUT_NAME load RUNTIME_OUTPUT_DIRECTORY ${out})
  add_executable(harm_crowd ${CMAKE_CURRENT_LIST_DIR}/crowd.c)
  target_link_libraries(harm_crowd PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(harm_crowd PROPERTIES OUTPUT_NAME crowd RUNTIME_OUTPUT_DIRECTORY ${out})
  add_executable(harm_scribble ${CMAKE_CURRENT_LIST_DIR}/scribble.c)
  target_include_directories(harm_scribble PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(harm_scribble PRIVATE ${CMAKE_DL_LIBS})
  foreach(part fail_write hold)
    add_library(harm_${part} SHARED ${CMAKE_CURRENT_LIST_DIR}/${part}.c)
    target_compile_options(harm_${part} PRIVATE -Wno-missing-prototypes)
    set_target_properties(harm_${part} PROPERTIES OUTPUT_NAME ${part} NO_SONAME ON PREFIX ""
      C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${out})
  endforeach()
  add_test(NAME harm.disk COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/disk.py
    ${CMAKE_BINARY_DIR})
  set_tests_properties(harm.disk PROPERTIES LABELS harm TIMEOUT 300)
  add_test(NAME harm.keeper COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/keeper.py
    ${CMAKE_BINARY_DIR})
  set_tests_properties(harm.keeper PROPERTIES LABELS harm TIMEOUT 600)
  add_test(NAME harm.node COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/node.py ${CMAKE_BINARY_DIR})
  set_tests_properties(harm.node PROPERTIES LABELS harm TIMEOUT 600)
  if(KYMO_HAVE_ZSTD)
    add_library(harm_plain_files SHARED ${CMAKE_CURRENT_LIST_DIR}/plain_files.c)
    set_target_properties(harm_plain_files PROPERTIES OUTPUT_NAME plain_files NO_SONAME ON PREFIX ""
      C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${out})
    add_test(NAME harm.compress COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/compress.py
      ${CMAKE_BINARY_DIR})
    set_tests_properties(harm.compress PROPERTIES LABELS harm TIMEOUT 1800)
  endif()
  # Each death once; more rounds by hand: campaign.py BUILD ROUNDS SEED.
  add_test(NAME harm.campaign COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/campaign.py
    ${CMAKE_BINARY_DIR})
  set_tests_properties(harm.campaign PROPERTIES LABELS harm TIMEOUT 600)
endif()
