# SPDX-License-Identifier: Apache-2.0
# Programs that run already when Kymo comes.
if(TARGET kymo AND TARGET kymo_attach AND TARGET kymo-posix AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  set(folder ${CMAKE_CURRENT_LIST_DIR}/../attach)
  add_executable(attach_program ${folder}/program.c)
  target_link_libraries(attach_program PRIVATE Threads::Threads)
  set(loop "")
  set(loop_program none)
  if(OpenCL_FOUND)
    add_executable(attach_loop ${folder}/loop.c)
    target_compile_options(attach_loop PRIVATE -Wno-deprecated-declarations)
    target_link_libraries(attach_loop PRIVATE OpenCL::OpenCL)
    set(loop opencl)
    set(loop_program $<TARGET_FILE:attach_loop>)
  endif()
  # CUDA's driver is the fake CUPTI, by the name that the driver has.
  add_library(attach_fake_cuda SHARED ${folder}/../cuda/fake.c)
  set_target_properties(attach_fake_cuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1 C_EXTENSIONS ON
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake-cuda)
  target_compile_options(attach_fake_cuda PRIVATE -fvisibility=default -Wno-missing-prototypes)
  add_executable(attach_cuda ${folder}/cuda.c ${folder}/../cuda/calls.c)
  set_target_properties(attach_cuda PROPERTIES C_EXTENSIONS ON)
  target_link_libraries(attach_cuda PRIVATE attach_fake_cuda Threads::Threads)
  foreach(what exact threads again ends refused recorded odd languages samples stuck moments openmpi mpich cuda ${loop})
    add_test(NAME cli.attach.${what} COMMAND ${Python3_EXECUTABLE} -B ${folder}/test_attach.py $<TARGET_FILE:kymo>
             $<TARGET_FILE:attach_program> ${loop_program} $<TARGET_FILE:attach_cuda> ${what})
    set_tests_properties(cli.attach.${what} PROPERTIES LABELS cli TIMEOUT 300)
  endforeach()
  # Six of the 200 attaches of the whole campaign.
  add_test(NAME cli.attach.campaign COMMAND ${Python3_EXECUTABLE} -B ${folder}/campaign.py $<TARGET_FILE:kymo>
           $<TARGET_FILE:attach_program> none 6 1 counts perl)
  set_tests_properties(cli.attach.campaign PROPERTIES LABELS cli TIMEOUT 300)
  add_library(attach_begun MODULE ${folder}/begun.c)
  add_executable(attach_killed ${folder}/killed.c)
  target_link_libraries(attach_killed PRIVATE kymo_attach Threads::Threads)
  add_test(NAME cli.attach.killed COMMAND attach_killed $<TARGET_FILE:attach_begun>)
  set_tests_properties(cli.attach.killed PROPERTIES LABELS cli TIMEOUT 300)
endif()
